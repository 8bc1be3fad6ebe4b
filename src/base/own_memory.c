/*
 * own_memory.c
 *	  Reads memory of this process that may not be there.
 */
#include "postgres.h"

#include <sys/uio.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/own_memory.h"

/* May this process copy its own memory?  Some sandboxes forbid that. */
static PLH_SAME_IN_CHILD bool may_copy;

static bool
copy_memory(void *to, const void *from, Size bytes)
{
	struct iovec local = {.iov_base = to,.iov_len = bytes};
	struct iovec remote = {.iov_base = unconstify(void *, from),.iov_len = bytes};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t) bytes;
}

/*
 * Find out if this process may copy its own memory: a sandbox that ends who tries does it now, and
 * not in the middle of a query.
 */
void
plh_own_memory_start(void)
{
	bool		copy;

	may_copy = copy_memory(&copy, &may_copy, sizeof(copy));
}

/* Copy memory of this process.  Returns false if it is not all there, or nothing may be copied. */
bool
plh_own_memory_copy(void *to, const void *from, Size bytes)
{
	int			saved_errno = errno;
	bool		copied = may_copy && copy_memory(to, from, bytes);

	errno = saved_errno;
	return copied;
}

/* Copy a struct with a pointer in it, which a compiler has placed where pointers are. */
bool
plh_own_memory_copy_struct(void *to, const void *from, Size bytes)
{
	return (uintptr_t) from % sizeof(void *) == 0 && plh_own_memory_copy(to, from, bytes);
}
