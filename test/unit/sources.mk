# The files of src that several programs of tests consist of: those here, of test/fuzz
# and of bench/judge.  SRC is src.

# A profile, and the judge of it.
JUDGE_SOURCES = \
	$(SRC)/base/directory_names.c \
	$(SRC)/base/guard.c \
	$(SRC)/base/hash_buckets.c \
	$(SRC)/base/hash_seed.c \
	$(SRC)/base/heavy_hitters.c \
	$(SRC)/base/sampling.c \
	$(SRC)/base/sealed_file.c \
	$(SRC)/base/size_units.c \
	$(SRC)/profile/baseline.c \
	$(SRC)/profile/maintenance.c \
	$(SRC)/profile/profile.c \
	$(SRC)/profile/profile_courses.c \
	$(SRC)/profile/profile_file.c \
	$(SRC)/profile/profile_image.c \
	$(SRC)/profile/profile_records.c \
	$(SRC)/profile/profile_recycling.c \
	$(SRC)/profile/profile_run.c \
	$(SRC)/profile/profile_stack.c \
	$(SRC)/profile/profile_statement.c \
	$(SRC)/profile/shared_directory.c \
	$(SRC)/profile/site_ages.c \
	$(SRC)/profile/site_facts.c \
	$(SRC)/profile/statement_commands.c \
	$(SRC)/profile/statement_shape.c \
	$(SRC)/profile/statement_text.c \
	$(SRC)/profile/statement_tokens.c \
	$(SRC)/stack/modules.c \
	$(SRC)/verdict/account.c \
	$(SRC)/verdict/course.c \
	$(SRC)/verdict/family.c \
	$(SRC)/verdict/family_suspect.c \
	$(SRC)/verdict/process_suspect.c \
	$(SRC)/verdict/site_family.c \
	$(SRC)/verdict/site_suspects.c \
	$(SRC)/verdict/statement_limit.c \
	$(SRC)/verdict/statement_suspect.c \
	$(SRC)/verdict/suspect.c \
	$(SRC)/verdict/suspect_list.c

# What these need besides; run_tests has it by tests that include it.
INCLUDED_SOURCES = \
	$(SRC)/base/private_memory.c \
	$(SRC)/base/whole_io.c \
	$(SRC)/profile/profile_counters.c \
	$(SRC)/profile/profile_room.c

# The verdict in words.
WORDS_SOURCES = \
	$(SRC)/profile/dump_names.c \
	$(SRC)/report/blamed_code.c \
	$(SRC)/report/context_examples.c \
	$(SRC)/report/one_line.c \
	$(SRC)/stack/allocation_wrappers.c \
	$(SRC)/verdict/ending_advice.c \
	$(SRC)/verdict/outside_advice.c \
	$(SRC)/verdict/process_kind.c \
	$(SRC)/verdict/share_text.c \
	$(SRC)/verdict/statement_evidence.c \
	$(SRC)/verdict/suspect_advice.c \
	$(SRC)/verdict/suspect_evidence.c \
	$(SRC)/verdict/unwritten.c

# Readers of profiles, dumps and baselines, and what is made of them.
READER_SOURCES = \
	$(SRC)/base/process_facts.c \
	$(SRC)/dump/dump_addresses.c \
	$(SRC)/dump/heap_text.c \
	$(SRC)/pprof/pprof.c \
	$(SRC)/pprof/pprof_samples.c \
	$(SRC)/pprof/pprof_tables.c \
	$(SRC)/pprof/protobuf.c \
	$(SRC)/reader/baseline_file.c \
	$(SRC)/reader/database_text.c \
	$(SRC)/reader/frame_names.c \
	$(SRC)/reader/profile_builder.c \
	$(SRC)/reader/profile_layouts.c \
	$(SRC)/reader/redaction.c \
	$(SRC)/reader/settled_counters.c \
	$(SRC)/reader/site_owner.c \
	$(SRC)/reader/unpublished_part.c \
	$(SRC)/report/call_tree.c \
	$(SRC)/report/code_part.c \
	$(SRC)/report/death_text.c \
	$(SRC)/report/dump_symbols.c \
	$(SRC)/report/folded.c \
	$(SRC)/report/listed_site.c \
	$(SRC)/report/routine_frames.c \
	$(SRC)/report/server_binary.c \
	$(SRC)/report/site_list.c \
	$(SRC)/report/stack_text.c \
	$(SRC)/report/text_numbers.c \
	$(SRC)/report/top.c \
	$(SRC)/report/words.c \
	$(SRC)/verdict/followed_parts.c
