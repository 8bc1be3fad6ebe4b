# The part of pg_leakhunt_attach that gdb runs, in the process it has attached to.
#
# The script sets $library to the path of the module first.  It is the only value
# that comes from outside, and has plain characters only.
#
# gdb waits until the process looks for interrupts in a transaction, and then makes
# it call the server's own load_file(), by setting registers: gdb's "call" saves and
# restores all registers, and fails where the processor has more of them than gdb
# knows.  A command that fails ends this file, whereupon gdb removes its breakpoints
# and detaches.  Therefore everything that may fail stands before the first change
# of a register.

set confirm off
set pagination off

# The server lives on signals: they reach it as if gdb were not there.  gdb would
# otherwise stop at most of them, and keep SIGINT, by which queries are cancelled,
# to itself.
handle all nostop noprint pass
handle SIGINT nostop noprint pass

# The script sends SIGWINCH when the time is over, because a gdb that is killed
# leaves its breakpoints behind, and the process dies of them.  PostgreSQL has no use
# for this signal, so that it need not be passed on.
handle SIGWINCH stop print nopass

# A look for interrupts is safe to divert if the server would act on an interrupt
# there.  A transaction is needed because loading the module may read the catalogs,
# for settings that were made before.  Interrupts and cancels are held off while
# something is halfway done or a message is being read: an error would then end the
# connection and not only the statement, and in a critical section the whole server.
macro define IS_SAFE (*(int *) &InterruptHoldoffCount == 0 && *(int *) &QueryCancelHoldoffCount == 0 && *(int *) &CritSectionCount == 0 && *(long *) &TopTransactionResourceOwner != 0)
break *(long) &ProcessInterrupts if IS_SAFE

# The process calls ProcessInterrupts() only if InterruptPending is set.  An idle
# session clears it at once, outside of a transaction.  For a statement that is too
# short to be met by chance it is therefore set again where the statement begins.
break *(long) &StartTransactionCommand
set var *(int *) &InterruptPending = 1

# SIGUSR1 wakes a process that waits.  The server's handler finds no request that
# came with it, and does nothing else.
signal SIGUSR1
while (long) $rip == (long) &StartTransactionCommand
  set var *(int *) &InterruptPending = 1
  continue
end

# From here on the process is not to stop anywhere but at a breakpoint: the script
# repeats SIGWINCH until gdb has ended.
handle SIGWINCH nostop noprint pass

# SIGWINCH may have stopped the process anywhere, at the entry of ProcessInterrupts(),
# too, where no condition of a breakpoint was looked at.
set $entry = (long) $rip
if $entry == (long) &ProcessInterrupts && IS_SAFE
  # At the entry of a function nothing below the stack pointer is in use, nor any
  # register that a call may change, and this function has no arguments.  The call
  # gets a frame 4 kB further down, which leaves room for the path.  The distance is
  # a multiple of 16, so that the stack is aligned as at any entry of a function.
  set $stack = $rsp
  set $frame = $stack - 4096

  # The path is copied byte by byte, with the zero at its end.  To assign it as a
  # whole, gdb would have to allocate memory in the process, by a call.
  set $path = $frame + 2048
  set $copied = 0
  while $copied < sizeof($library)
    set var *(char *) ($path + $copied) = $library[$copied]
    set $copied = $copied + 1
  end

  # load_file() returns to the entry of ProcessInterrupts(), which then runs as if
  # nothing had happened.  The stack pointer tells this return from a call of
  # ProcessInterrupts() by load_file().
  set var *(long *) $frame = $entry
  delete
  break *$entry if $rsp == $frame + 8

  # An error does not return, but leaves by way of pg_re_throw().
  break *(long) &pg_re_throw

  # The messages that load_file() may write end with a look for interrupts.  None is
  # to be served in the middle of the call.
  set var *(int *) &InterruptHoldoffCount = 1

  # The arguments of load_file() are the path, and false: the file is not restricted
  # to the directory that all users may load from.
  set $rdi = $path
  set $rsi = 0
  set $rsp = $frame
  set $rip = (long) &load_file
  continue

  # An error whose handler lies below our frame is caught within load_file(), which
  # goes on.
  while (long) $rip == (long) &pg_re_throw && *(long *) &PG_exception_stack < $stack
    continue
  end

  # After a return the stack and the holdoff are put back.  After an error the server
  # has done both: it leaves to a handler further up, and holds off nothing.
  if (long) $rip == $entry && $rsp == $frame + 8
    set $rsp = $stack
    set var *(int *) &InterruptHoldoffCount = 0
  end
end

# The process must not meet a breakpoint when gdb is gone.
delete
detach
