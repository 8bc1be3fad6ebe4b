/*
 * call_frame_info.c
 *	  What the tables for unwinding say of an address.
 *
 * This code runs inside palloc.
 *
 * The tables are those of .eh_frame, which the System V ABI for x86-64 and the
 * Linux Standard Base describe.  Each function has a description (FDE), which refers
 * to one that it shares with others (CIE).  Both have a program whose instructions
 * say, for each address in the function, how registers of the caller are found.  We
 * follow the stack pointer, the frame pointer and the return address only.
 */
#include "postgres.h"

#include "base/call_frame_info.h"

#if PLH_HAVE_UNWIND_RULES

/* Numbers of registers in the tables. */
#define FRAME_POINTER 6
#define STACK_POINTER 7
#define RETURN_ADDRESS 16

/* Encodings of pointers in the tables. */
#define ENCODED_RELATIVE_INT32 0x1b /* to where it stands */
#define ENCODED_RELATIVE_INT64 0x1c

/* A program remembers no more states than this within each other. */
#define MAX_REMEMBERED 4

/* A part of the tables that is read from its start to its end. */
typedef struct Reader
{
	const uint8 *at;
	const uint8 *end;
	bool		failed;			/* something was asked for behind the end */
} Reader;

/* Where a register of the caller is. */
typedef enum Place
{
	UNCHANGED,					/* where it is in this frame */
	AT_CFA,						/* in memory, so far from the CFA */
	NOWHERE,					/* undefined: there is no caller */
	ODD_PLACE					/* what we do not follow */
} Place;

typedef struct Register
{
	Place		place;
	int64		offset;
} Register;

/* What a program says for an address. */
typedef struct Row
{
	uint64		cfa_register;
	int64		cfa_offset;
	bool		cfa_is_odd;
	Register	frame_pointer;
	Register	stack_pointer;
	Register	return_address;
} Row;

/* What a function's description refers to. */
typedef struct Common
{
	int			address_bytes;	/* of what is encoded relative to its place */
	uint64		code_factor;
	int64		data_factor;
	Reader		program;
} Common;

/* The state of a program that runs up to an address. */
typedef struct Run
{
	const Common *common;
	uintptr_t	location;
	uintptr_t	target;
	Row			row;
	Row			initial;		/* as the CIE's program has left it */
	Row			remembered[MAX_REMEMBERED];
	int			remembered_count;
	bool		failed;
} Run;

static uint64
read_bytes(Reader *reader, int bytes)
{
	uint64		value = 0;

	if (reader->end - reader->at < bytes)
	{
		reader->failed = true;
		return 0;
	}
	memcpy(&value, reader->at, bytes);
	reader->at += bytes;
	return value;
}

static int32
read_int32(Reader *reader)
{
	return (int32) read_bytes(reader, sizeof(int32));
}

/* Read a number of 7 bits per byte; "sign" tells whether it may be negative. */
static uint64
read_leb128(Reader *reader, bool sign)
{
	uint64		value = 0;
	int			shift = 0;
	uint8		byte;

	do
	{
		byte = read_bytes(reader, 1);
		if (shift < 64)
			value |= (uint64) (byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) != 0 && !reader->failed);
	if (sign && (byte & 0x40) != 0 && shift < 64)
		value |= ~UINT64CONST(0) << shift;
	return value;
}

static uint64
read_unsigned(Reader *reader)
{
	return read_leb128(reader, false);
}

static int64
read_signed(Reader *reader)
{
	return (int64) read_leb128(reader, true);
}

/* Returns the register that we follow by that number, or one to be ignored. */
static Register *
followed(Row *row, uint64 number, Register *ignored)
{
	return number == FRAME_POINTER ? &row->frame_pointer :
		number == STACK_POINTER ? &row->stack_pointer :
		number == RETURN_ADDRESS ? &row->return_address : ignored;
}

static void
set_place(Run *run, uint64 number, Place place, int64 offset)
{
	Register	ignored;
	Register   *found = followed(&run->row, number, &ignored);

	found->place = place;
	found->offset = offset;
}

/* Give a register back what the CIE's program said of it. */
static void
restore_place(Run *run, uint64 number)
{
	Register	ignored = {0};
	const Register *initial = followed(&run->initial, number, &ignored);

	set_place(run, number, initial->place, initial->offset);
}

static void
remember(Run *run)
{
	if (run->remembered_count == MAX_REMEMBERED)
		run->failed = true;
	else
		run->remembered[run->remembered_count++] = run->row;
}

static void
recall(Run *run)
{
	if (run->remembered_count == 0)
		run->failed = true;
	else
		run->row = run->remembered[--run->remembered_count];
}

/* Skip what has its size before it, as an expression, which is odd. */
static void
skip_block(Reader *reader)
{
	uint64		bytes = read_unsigned(reader);

	if (bytes > (uint64) (reader->end - reader->at))
		reader->failed = true;
	else
		reader->at += bytes;
}

static void
set_cfa(Run *run, uint64 number, int64 offset)
{
	run->row.cfa_register = number;
	run->row.cfa_offset = offset;
	run->row.cfa_is_odd = false;
}

/*
 * Run one of the instructions whose code takes all of its first byte.  The names
 * are those of the standard DWARF.
 */
static void
run_extended(Run *run, Reader *reader, uint8 code)
{
	int64		factor = run->common->data_factor;
	uint64		number;

	switch (code)
	{
		case 0x00:				/* nop */
			break;
		case 0x02:				/* advance_loc1, 2, 4 */
		case 0x03:
		case 0x04:
			run->location += read_bytes(reader, 1 << (code - 2)) *
				run->common->code_factor;
			break;
		case 0x05:				/* offset_extended */
			number = read_unsigned(reader);
			set_place(run, number, AT_CFA, (int64) read_unsigned(reader) * factor);
			break;
		case 0x06:				/* restore_extended */
			restore_place(run, read_unsigned(reader));
			break;
		case 0x07:				/* undefined */
			set_place(run, read_unsigned(reader), NOWHERE, 0);
			break;
		case 0x08:				/* same_value */
			set_place(run, read_unsigned(reader), UNCHANGED, 0);
			break;
		case 0x09:				/* register */
			set_place(run, read_unsigned(reader), ODD_PLACE, 0);
			(void) read_unsigned(reader);
			break;
		case 0x0a:				/* remember_state */
			remember(run);
			break;
		case 0x0b:				/* restore_state */
			recall(run);
			break;
		case 0x0c:				/* def_cfa */
			number = read_unsigned(reader);
			set_cfa(run, number, read_unsigned(reader));
			break;
		case 0x0d:				/* def_cfa_register */
			set_cfa(run, read_unsigned(reader), run->row.cfa_offset);
			break;
		case 0x0e:				/* def_cfa_offset */
			run->row.cfa_offset = read_unsigned(reader);
			break;
		case 0x0f:				/* def_cfa_expression */
			skip_block(reader);
			run->row.cfa_is_odd = true;
			break;
		case 0x10:				/* expression */
		case 0x16:				/* val_expression */
			set_place(run, read_unsigned(reader), ODD_PLACE, 0);
			skip_block(reader);
			break;
		case 0x11:				/* offset_extended_sf */
			number = read_unsigned(reader);
			set_place(run, number, AT_CFA, read_signed(reader) * factor);
			break;
		case 0x12:				/* def_cfa_sf */
			number = read_unsigned(reader);
			set_cfa(run, number, read_signed(reader) * factor);
			break;
		case 0x13:				/* def_cfa_offset_sf */
			run->row.cfa_offset = read_signed(reader) * factor;
			break;
		case 0x2e:				/* GNU_args_size */
			(void) read_unsigned(reader);
			break;
		default:
			run->failed = true;
	}
}

/* Run a program up to the first address behind the target. */
static void
run_program(Run *run, Reader program)
{
	while (program.at < program.end && !program.failed && !run->failed)
	{
		Row			before = run->row;
		uint8		code = read_bytes(&program, 1);
		uint8		operand = code & 0x3f;

		switch (code >> 6)
		{
			case 1:				/* advance_loc */
				run->location += operand * run->common->code_factor;
				break;
			case 2:				/* offset */
				set_place(run, operand, AT_CFA,
						  (int64) read_unsigned(&program) *
						  run->common->data_factor);
				break;
			case 3:				/* restore */
				restore_place(run, operand);
				break;
			default:
				run_extended(run, &program, code);
		}
		if (run->location > run->target)
		{
			run->row = before;
			return;
		}
	}
	run->failed |= program.failed;
}

/*
 * Read the length of a description, and set the reader to what follows.  Those of
 * more than 4 GB do not exist.
 */
static bool
enter_description(Reader *reader, const uint8 *at)
{
	uint32		bytes;

	memcpy(&bytes, at, sizeof(bytes));
	if (bytes == 0 || bytes >= 0xfffffff0)
		return false;
	reader->at = at + sizeof(bytes);
	reader->end = reader->at + bytes;
	reader->failed = false;
	return true;
}

/* Read how addresses are encoded: as a compiler does, or LLVM for compiled queries. */
static bool
read_encoding(Common *common, Reader *reader)
{
	uint8		encoding = read_bytes(reader, 1);

	common->address_bytes = encoding == ENCODED_RELATIVE_INT64 ? 8 : 4;
	return encoding == ENCODED_RELATIVE_INT32 ||
		encoding == ENCODED_RELATIVE_INT64;
}

/*
 * Read the letters and data of an augmentation.  Of those that are known, R says
 * how addresses are encoded and S marks the frames of signal handlers, whose
 * interrupted function may be anywhere.
 */
static bool
read_augmentation(Common *common, Reader *reader, const char *letters)
{
	uint64		bytes = read_unsigned(reader);
	const uint8 *behind = reader->at + bytes;

	if (bytes > (uint64) (reader->end - reader->at))
		return false;
	for (; *letters != '\0'; letters++)
	{
		switch (*letters)
		{
			case 'R':
				if (!read_encoding(common, reader))
					return false;
				break;
			case 'P':
				/* the personality's pointer, by whatever encoding of 4 bytes */
				if ((read_bytes(reader, 1) & 0x0f) != 0x0b)
					return false;
				(void) read_int32(reader);
				break;
			case 'L':
				(void) read_bytes(reader, 1);
				break;
			default:
				return false;
		}
	}
	reader->at = behind;
	return !reader->failed;
}

/* Read a CIE.  Returns false if it is not a plain one. */
static bool
read_common(Common *common, const uint8 *at)
{
	Reader		reader;
	const char *letters;

	common->address_bytes = 0;
	if (!enter_description(&reader, at) || read_int32(&reader) != 0 ||
		read_bytes(&reader, 1) != 1)
		return false;
	letters = (const char *) reader.at;
	if (letters[0] != 'z')
		return false;
	reader.at += strlen(letters) + 1;
	common->code_factor = read_unsigned(&reader);
	common->data_factor = read_signed(&reader);
	if (read_unsigned(&reader) != RETURN_ADDRESS ||
		!read_augmentation(common, &reader, letters + 1))
		return false;
	common->program = reader;
	return common->address_bytes != 0;
}

/* The rule that a row is; odd if it is not a plain one. */
static void
make_rule(PlhUnwindRule *rule, const Row *row)
{
	const Register *saved = &row->frame_pointer;

	if (row->return_address.place == NOWHERE)
		rule->kind = PLH_RULE_OUTERMOST;
	else if (!row->cfa_is_odd &&
			 (row->cfa_register == STACK_POINTER ||
			  row->cfa_register == FRAME_POINTER) &&
			 row->return_address.place == AT_CFA &&
			 row->return_address.offset == -(int) sizeof(uintptr_t) &&
			 row->stack_pointer.place == UNCHANGED &&
			 (saved->place == UNCHANGED || saved->place == AT_CFA) &&
			 llabs(row->cfa_offset) < PG_INT32_MAX &&
			 llabs(saved->offset) < PG_INT32_MAX)
	{
		rule->kind = PLH_RULE_CALLER;
		rule->from_frame_pointer = row->cfa_register == FRAME_POINTER;
		rule->cfa_offset = row->cfa_offset;
		rule->saved_offset = saved->place == AT_CFA ? saved->offset : 0;
	}
}

/* Read an address of as many bytes as they have here, relative to where it stands. */
static int64
read_relative(Reader *reader, const Common *common)
{
	return common->address_bytes == 8 ? (int64) read_bytes(reader, 8) :
		read_int32(reader);
}

/* Read a size of as many bytes as addresses have. */
static uint64
read_size(Reader *reader, const Common *common)
{
	return common->address_bytes == 8 ? read_bytes(reader, 8) :
		read_bytes(reader, 4);
}

/*
 * Read what an FDE begins with, and set the reader to its program.  Returns false if
 * it is not a plain one.
 */
static bool
read_function(const PlhFrameDescription *description, Common *common,
			  PlhCodeRange *range, Reader *reader)
{
	uintptr_t	place;

	if (!enter_description(reader, description->function) ||
		!read_common(common, description->common))
		return false;
	(void) read_int32(reader);	/* where the CIE is */
	place = (uintptr_t) reader->at + description->displacement;
	range->start = place + read_relative(reader, common);
	range->end = range->start + read_size(reader, common);
	skip_block(reader);			/* its augmentation's data */
	return !reader->failed;
}

/*
 * Returns the CIE of an FDE.
 */
const uint8 *
plh_call_frame_info_common(const uint8 *function)
{
	uint32		distance;

	/* it is counted from where it stands, behind the length */
	memcpy(&distance, function + sizeof(uint32), sizeof(distance));
	return function + sizeof(uint32) - distance;
}

/*
 * Find the code that is described.  Returns false if the description is not a plain
 * one.
 */
bool
plh_call_frame_info_range(const PlhFrameDescription *description,
						  PlhCodeRange *range)
{
	Common		common;
	Reader		reader;

	return read_function(description, &common, range, &reader);
}

/*
 * Find the rule for an address, the last one of a call.  It stays odd, if the
 * description is of other code, or says what we do not follow.
 */
void
plh_call_frame_info_rule(const PlhFrameDescription *description,
						 uintptr_t target, PlhUnwindRule *rule)
{
	Common		common;
	Reader		reader;
	PlhCodeRange range;
	Run			run = {.common = &common,.target = target};

	if (!read_function(description, &common, &range, &reader) ||
		target < range.start || target >= range.end)
		return;
	run.location = range.start;
	run_program(&run, common.program);
	run.initial = run.row;
	run.location = range.start;
	run_program(&run, reader);
	if (!run.failed)
		make_rule(rule, &run.row);
}

#endif							/* PLH_HAVE_UNWIND_RULES */
