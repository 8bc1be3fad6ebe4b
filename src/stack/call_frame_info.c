/*
 * call_frame_info.c
 *	  What the tables for unwinding say of an address.
 *
 * This code runs inside palloc.
 *
 * The tables are those of .eh_frame, which the System V ABI for x86-64 and the Linux Standard Base
 * describe.  Each function has a frame description entry (FDE), which refers to a common
 * information entry (CIE) that it shares with others.  Both have a program whose instructions say,
 * for each address in the function, how registers of the caller are found.  We follow the stack
 * pointer, the frame pointer and the return address only.  The words are those of the standard
 * DWARF.
 */
#include "postgres.h"

#include <dwarf.h>

#include "stack/call_frame_info.h"

#if PLH_HAVE_UNWIND_RULES

/* Numbers of registers in the tables. */
#define FRAME_POINTER 6
#define STACK_POINTER 7
#define RETURN_ADDRESS 16

/* How addresses are encoded: relative to where they stand. */
#define RELATIVE_INT32 (DW_EH_PE_pcrel | DW_EH_PE_sdata4)
#define RELATIVE_INT64 (DW_EH_PE_pcrel | DW_EH_PE_sdata8)

/* The bits of an encoding that tell the size. */
#define FORMAT_MASK 0x0f

/* Of an instruction whose first byte has an operand, the bits of that. */
#define OPERAND_MASK 0x3f

/* A program remembers no more states than this within each other. */
#define MAX_REMEMBERED 4

/* A part of the tables that is read from its start to its end. */
typedef struct Reader
{
	const uint8 *at;
	const uint8 *end;
	bool		failed;			/* something was asked for behind the end */
} Reader;

/* How a register of the caller is found. */
typedef enum RegisterRule
{
	SAME_VALUE,					/* it is what it is in this frame */
	AT_OFFSET,					/* in memory, at an offset from the CFA */
	UNDEFINED,					/* of the return address: there is no caller */
	UNSUPPORTED					/* in a way that we do not follow */
} RegisterRule;

typedef struct Register
{
	RegisterRule rule;
	int64		offset;
} Register;

/* What a program says for an address. */
typedef struct Row
{
	uint64		cfa_register;
	int64		cfa_offset;
	bool		cfa_is_unsupported;
	Register	frame_pointer;
	Register	stack_pointer;
	Register	return_address;
} Row;

/* What a CIE says. */
typedef struct Cie
{
	int			address_bytes;	/* of what is encoded relative to its place */
	uint64		code_factor;
	int64		data_factor;
	Reader		program;
} Cie;

/* The state of a program that runs up to an address. */
typedef struct Run
{
	const Cie  *cie;
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
set_rule(Run *run, uint64 number, RegisterRule rule, int64 offset)
{
	Register	ignored;
	Register   *found = followed(&run->row, number, &ignored);

	found->rule = rule;
	found->offset = offset;
}

/* Give a register back what the CIE's program said of it. */
static void
restore_rule(Run *run, uint64 number)
{
	Register	ignored = {0};
	const Register *initial = followed(&run->initial, number, &ignored);

	set_rule(run, number, initial->rule, initial->offset);
}

/* Skip what has its size before it, as an expression has. */
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
	run->row.cfa_is_unsupported = false;
}

/* Run one of the instructions whose code takes all of its first byte. */
static void
run_extended(Run *run, Reader *reader, uint8 code)
{
	int64		factor = run->cie->data_factor;
	uint64		number;

	switch (code)
	{
		case DW_CFA_nop:
			break;
		case DW_CFA_advance_loc1:
		case DW_CFA_advance_loc2:
		case DW_CFA_advance_loc4:
			run->location += read_bytes(reader, 1 << (code - DW_CFA_advance_loc1)) *
				run->cie->code_factor;
			break;
		case DW_CFA_offset_extended:
		case DW_CFA_offset_extended_sf:
			number = read_unsigned(reader);
			set_rule(run, number, AT_OFFSET, (int64)
					 read_leb128(reader, code == DW_CFA_offset_extended_sf) * factor);
			break;
		case DW_CFA_restore_extended:
			restore_rule(run, read_unsigned(reader));
			break;
		case DW_CFA_undefined:
			set_rule(run, read_unsigned(reader), UNDEFINED, 0);
			break;
		case DW_CFA_same_value:
			set_rule(run, read_unsigned(reader), SAME_VALUE, 0);
			break;
		case DW_CFA_register:
			set_rule(run, read_unsigned(reader), UNSUPPORTED, 0);
			(void) read_unsigned(reader);
			break;
		case DW_CFA_remember_state:
			if (run->remembered_count == MAX_REMEMBERED)
				run->failed = true;
			else
				run->remembered[run->remembered_count++] = run->row;
			break;
		case DW_CFA_restore_state:
			if (run->remembered_count == 0)
				run->failed = true;
			else
				run->row = run->remembered[--run->remembered_count];
			break;
		case DW_CFA_def_cfa:
			number = read_unsigned(reader);
			set_cfa(run, number, read_unsigned(reader));
			break;
		case DW_CFA_def_cfa_register:
			set_cfa(run, read_unsigned(reader), run->row.cfa_offset);
			break;
		case DW_CFA_def_cfa_offset:
			run->row.cfa_offset = read_unsigned(reader);
			break;
		case DW_CFA_def_cfa_expression:
			skip_block(reader);
			run->row.cfa_is_unsupported = true;
			break;
		case DW_CFA_expression:
		case DW_CFA_val_expression:
			set_rule(run, read_unsigned(reader), UNSUPPORTED, 0);
			skip_block(reader);
			break;
		case DW_CFA_def_cfa_sf:
			number = read_unsigned(reader);
			set_cfa(run, number, read_signed(reader) * factor);
			break;
		case DW_CFA_def_cfa_offset_sf:
			run->row.cfa_offset = read_signed(reader) * factor;
			break;
		case DW_CFA_GNU_args_size:
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
		uint8		operand = code & OPERAND_MASK;

		switch (code & ~OPERAND_MASK)
		{
			case DW_CFA_advance_loc:
				run->location += operand * run->cie->code_factor;
				break;
			case DW_CFA_offset:
				set_rule(run, operand, AT_OFFSET, (int64) read_unsigned(&program) *
						 run->cie->data_factor);
				break;
			case DW_CFA_restore:
				restore_rule(run, operand);
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

/* Set the reader to what follows the length.  Entries of more than 4 GB do not exist. */
static bool
enter_entry(Reader *reader, const uint8 *at)
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

/*
 * Read the letters and data of an augmentation.  Of those that are known, R says how addresses are
 * encoded and S marks the frames of signal handlers, whose interrupted function may be anywhere.
 */
static bool
read_augmentation(Cie *cie, Reader *reader, const char *letters)
{
	uint64		bytes = read_unsigned(reader);
	const uint8 *behind = reader->at + bytes;
	uint8		encoding;

	if (bytes > (uint64) (reader->end - reader->at))
		return false;
	for (; *letters != '\0'; letters++)
	{
		switch (*letters)
		{
			case 'R':

				/*
				 * compilers do the first, and LLVM the second for compiled
				 * queries
				 */
				encoding = read_bytes(reader, 1);
				if (encoding != RELATIVE_INT32 && encoding != RELATIVE_INT64)
					return false;
				cie->address_bytes = encoding == RELATIVE_INT64 ? 8 : 4;
				break;
			case 'P':
				/* the personality's pointer, by whatever encoding of 4 bytes */
				if ((read_bytes(reader, 1) & FORMAT_MASK) != DW_EH_PE_sdata4)
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
read_cie(Cie *cie, const uint8 *at)
{
	Reader		reader;
	const char *letters;

	cie->address_bytes = 0;
	if (!enter_entry(&reader, at) || read_int32(&reader) != 0 || read_bytes(&reader, 1) != 1)
		return false;
	letters = (const char *) reader.at;
	if (letters[0] != 'z')
		return false;
	reader.at += strlen(letters) + 1;
	cie->code_factor = read_unsigned(&reader);
	cie->data_factor = read_signed(&reader);
	if (read_unsigned(&reader) != RETURN_ADDRESS || !read_augmentation(cie, &reader, letters + 1))
		return false;
	cie->program = reader;
	return cie->address_bytes != 0;
}

/* The rule that a row is; it stays unsupported if it is not a plain one. */
static void
make_rule(PlhUnwindRule *rule, const Row *row)
{
	const Register *saved = &row->frame_pointer;

	if (row->return_address.rule == UNDEFINED)
		rule->kind = PLH_RULE_OUTERMOST;
	else if (!row->cfa_is_unsupported &&
			 (row->cfa_register == STACK_POINTER ||
			  row->cfa_register == FRAME_POINTER) &&
			 row->return_address.rule == AT_OFFSET &&
			 row->return_address.offset == -(int) sizeof(uintptr_t) &&
			 row->stack_pointer.rule == SAME_VALUE &&
			 (saved->rule == SAME_VALUE || saved->rule == AT_OFFSET) &&
			 llabs(row->cfa_offset) < PG_INT32_MAX &&
			 llabs(saved->offset) < PG_INT32_MAX)
	{
		rule->kind = PLH_RULE_CALLER;
		rule->from_frame_pointer = row->cfa_register == FRAME_POINTER;
		rule->cfa_offset = row->cfa_offset;
		rule->saved_offset = saved->rule == AT_OFFSET ? saved->offset : 0;
	}
}

/* Read an address of as many bytes as they have here, relative to where it stands. */
static int64
read_relative(Reader *reader, const Cie *cie)
{
	return cie->address_bytes == 8 ? (int64) read_bytes(reader, 8) : read_int32(reader);
}

/* Set the reader to an FDE's program.  Returns false if it is not a plain one. */
static bool
read_fde(const PlhFrameTables *tables, Cie *cie, PlhCodeRange *range, Reader *reader)
{
	uintptr_t	place;

	if (!enter_entry(reader, tables->fde) || !read_cie(cie, tables->cie))
		return false;
	(void) read_int32(reader);	/* where the CIE is */
	place = (uintptr_t) reader->at + tables->displacement;
	range->start = place + read_relative(reader, cie);
	range->end = range->start + (cie->address_bytes == 8 ?
								 read_bytes(reader, 8) : read_bytes(reader, 4));
	skip_block(reader);			/* its augmentation's data */
	return !reader->failed;
}

const uint8 *
plh_call_frame_info_cie(const uint8 *fde)
{
	uint32		distance;

	/* it is counted from where it stands, behind the length */
	memcpy(&distance, fde + sizeof(uint32), sizeof(distance));
	return fde + sizeof(uint32) - distance;
}

/* Find the code that an FDE is of.  Returns false if it is not a plain one. */
bool
plh_call_frame_info_range(const PlhFrameTables *tables, PlhCodeRange *range)
{
	Cie			cie;
	Reader		reader;

	return read_fde(tables, &cie, range, &reader);
}

/*
 * Find the rule for an address, the last one of a call.  It stays unsupported, if the FDE is of
 * other code, or says what we do not follow.
 */
void
plh_call_frame_info_rule(const PlhFrameTables *tables, uintptr_t target, PlhUnwindRule *rule)
{
	Cie			cie;
	Reader		reader;
	PlhCodeRange range;
	Run			run = {.cie = &cie,.target = target};

	if (!read_fde(tables, &cie, &range, &reader) || !plh_code_range_has(&range, target))
		return;
	run.location = range.start;
	run_program(&run, cie.program);
	run.initial = run.row;
	run.location = range.start;
	run_program(&run, reader);
	if (!run.failed)
		make_rule(rule, &run.row);
}

#endif							/* PLH_HAVE_UNWIND_RULES */
