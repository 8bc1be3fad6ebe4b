/*
 * sentence_table.h
 *	  All sentences that are said of processes, in the order in which one meets them.
 *
 * SECTION(title) begins a part.  SENTENCE(id, when, alive, gone) is one sentence, or several that
 * belong together: what is said of a process that lives, and of one that is gone; NULL stands for
 * the same words.  PLURAL(id, when, alive, alive of several, gone, gone of several) depends on a
 * number, its field {count}.  PHRASE(id, when, alive, gone) is no sentence, but stands within one.
 * "when" says when it is said.
 *
 * A name in braces is a field of PlhFields (sentences.h): a figure, a name, a list of names, a
 * phrase, or a sentence of judge/family.c.  Nothing else is put together: so each sentence can be
 * read, and translated, as a whole.  No program of ours reads them: programs get fields
 * (finding_json.h).
 *
 * doc/explanation.md is made of this table.
 */

SECTION("Who it is, and how large")
SENTENCE(size, "it lives", "{who}: {bytes} of private memory.", NULL)
SENTENCE(size_counted, "it is gone",
		 "{who}: {bytes} of private memory when it was last counted.", NULL)
SENTENCE(size_unknown, "it is gone, and was never counted", "{who}: its size is not known.", NULL)
PLURAL(workers, "it has parallel workers",
	   "Its {count} parallel worker ({list}) has {bytes} of private memory; with its own, that is {total}.",
	   "Its {count} parallel workers ({list}) have {bytes} of private memory; with its own, that is {total}.", NULL, NULL)
SENTENCE(worker_of, "it is a parallel worker",
		 "It runs a statement of process {pid}, whose explanation adds up all of its workers.", NULL)
SENTENCE(shared, "it has touched 32 MB of shared memory",
		 "In top, its RES also includes {bytes} of shared memory, such as shared buffers. That exists once for all processes.", NULL)

SENTENCE(process_page_tables, "its page tables are a tenth of private memory, or more",
		 "The kernel keeps another {bytes} of page tables for it.", NULL)
SENTENCE(process_page_tables_shared, "the same, and most of that is for shared memory",
		 "Most of that is for shared memory. Other sessions that read it have page tables of their own; huge pages (huge_pages) need next to none.", NULL)

SECTION("What it is made of")
PHRASE(ago, "a time that has passed until now", "{age} ago", "{age} before it died")
PHRASE(before_dump, "the same, of a dump", "{age} before the dump", NULL)
PHRASE(before_silence, "the same, where it is not known when it died",
	   "{age} before it was last heard of", NULL)
SENTENCE(not_counted, "no count yet",
		 "It has not counted its memory contexts yet.", "It had not counted its memory contexts.")
SENTENCE(parts, "it has counted its contexts and malloc, now or at another moment",
		 "It has {contexts} in memory contexts, {outside} from malloc outside of them, and {freed} of freed memory that malloc keeps{rest}.",
		 "When it last counted its memory, {ago}, it had {contexts} in memory contexts, {outside} from malloc outside of them, and {freed} of freed memory that malloc kept{rest}.")
SENTENCE(parts_nothing_freed, "the same, and malloc keeps nothing that was freed",
		 "It has {contexts} in memory contexts and {outside} from malloc outside of them{rest}.",
		 "When it last counted its memory, {ago}, it had {contexts} in memory contexts and {outside} from malloc outside of them{rest}.")
SENTENCE(parts_without_malloc, "malloc does not tell what it has",
		 "It has {contexts} in memory contexts and {outside} outside of them{rest}.",
		 "When it last counted its memory, {ago}, it had {contexts} in memory contexts and {outside} outside of them{rest}.")
PHRASE(unwritten, "more was allocated than takes memory",
	   "; {bytes} of that takes no memory yet, as it was not written to",
	   "; {bytes} of that took no memory yet, as it was not written to")
SENTENCE(allocator_untold, "the same, and it is known whose malloc it is",
		 "Its malloc is that of {library}, which does not tell how much of this is in use.",
		 "Its malloc was that of {library}, which does not tell how much of this is in use.")
SENTENCE(allocator_unknown, "the same, and that is not known",
		 "pg_leakhunt does not know its malloc, so it cannot tell how much of this is in use.",
		 "pg_leakhunt does not know its malloc, so it cannot tell how much of this was in use.")
SENTENCE(allocator_is, "malloc tells what it has, and is not glibc's",
		 "Its malloc is that of {library}.", "Its malloc was that of {library}.")
SENTENCE(free_in_contexts, "there is free space inside contexts",
		 "Of the memory in contexts, {bytes} is free space inside them.",
		 "Of the memory in contexts, {bytes} was free space inside them.")
SENTENCE(elsewhere, "part of private memory belongs to neither",
		 "{bytes} is elsewhere.", "{bytes} was elsewhere.")
SENTENCE(own_then, "it lives, and the count is of another moment",
		 "Its private memory was {bytes} then.", NULL)
SENTENCE(unknown_since, "that is another figure than now",
		 "What it has allocated and freed since is not known.", NULL)
SENTENCE(kinds, "contexts were counted", "Memory contexts by kind: {list}, {rest} in others.",
		 "Memory contexts by kind at that count: {list}, {rest} in others.")
SENTENCE(kinds_all, "the same, and there are no others", "Memory contexts by kind: {list}.",
		 "Memory contexts by kind at that count: {list}.")
PHRASE(kind, "in such a list", "{bytes} for {title}", NULL)
PHRASE(kind_many, "in such a list", "{bytes} for {title} ({count} contexts)", NULL)
PHRASE(kind_named, "in such a list, of a name that is not known", "{bytes} in {title}", NULL)
PHRASE(kind_named_many, "in such a list, of a name that is not known", "{bytes} in {title} ({count} contexts)", NULL)
SENTENCE(unsampled, "a tenth of the contexts, or more, may be older than the first sample",
		 "What it allocated before sampling began has no call site: {bytes}, part of which may have been freed.", NULL)

SECTION("Since when it grows")
SENTENCE(larger_before, "it was larger before it grew",
		 "Private memory was {bytes} larger {age} ago.",
		 "Private memory had been {bytes} larger {age} before the last count.")
SENTENCE(grown_open, "it has grown, and it is not known whether it still does",
		 "Private memory has grown by {bytes} since {since}. Whether it still grows is not known.", NULL)
SENTENCE(grown_open_counted, "the same, where part of it was counted",
		 "Private memory has grown by {bytes} since {since}, {late} of that since the last count, {age} ago. Whether it still grows is not known.", NULL)
SENTENCE(grew_at_once, "it grew within a second",
		 "Private memory grew by {bytes} within a second at {since}.",
		 "Private memory had grown by {bytes} within a second at {since}.")
SENTENCE(grows, "it grew until now",
		 "Private memory has grown by {bytes} in the {span} since {since} ({rate}).",
		 "Private memory had grown by {bytes} in the {span} since {since} ({rate}).")
SENTENCE(grew, "it grew, and has stopped",
		 "Private memory grew by {bytes} from {since} on, within {span} ({rate}).",
		 "Private memory had grown by {bytes} from {since} on, within {span} ({rate}).")
SENTENCE(rests_since, "it has stopped growing",
		 "It has hardly changed in the {age} since.", "It had hardly changed in the {age} since.")
SENTENCE(fell_and_rests, "it fell, and rests since",
		 "Private memory fell by {bytes} {age} ago, and has hardly changed since.",
		 "Private memory had fallen by {bytes} {age} before the last count, and had hardly changed since.")
SENTENCE(larger_and_rests, "it was larger once, and rests",
		 "Private memory was {bytes} larger {age} ago; it has hardly changed in the last {span}.",
		 "Private memory had been {bytes} larger {age} before the last count; it had hardly changed in the last {span}.")
SENTENCE(rests, "it rests",
		 "Private memory has hardly changed for {age}.",
		 "Private memory had hardly changed for {age}.")
SENTENCE(falls, "it becomes smaller",
		 "Private memory has fallen by {bytes} in the last {age}.",
		 "Private memory had fallen by {bytes} in the {age} before the last count.")
PHRASE(second, "it has just become smaller", "second", NULL)

SECTION("What it held once")
SENTENCE(peak_counted, "it held 32 MB more once, and was counted then",
		 "Private memory was {total} at most when it was counted, {ago}.", NULL)
SENTENCE(peak, "it held 32 MB more once",
		 "At its sampled peak, {ago}, the largest call site held about {bytes}: {site} in {context}.", NULL)
SENTENCE(peak_shared, "the same, and one function leads to most of it",
		 "At its sampled peak, {ago}, about {bytes} was allocated in {name} and the functions that it calls, at {count} call sites. That was {percent}% of what samples showed.", NULL)
SENTENCE(peak_shared_least, "the same, where only the largest stacks are known",
		 "At its sampled peak, {ago}, about {bytes} was allocated in {name} and the functions that it calls, at {count} call sites or more. That was {percent}% of what samples showed.", NULL)
SENTENCE(peak_shared_site, "one function had most of it, and none of the stacks that lead to it had much",
		 "At its sampled peak, {ago}, about {bytes} was allocated in {name}, which was called in {count} different ways. That was {percent}% of what samples showed.", NULL)
SENTENCE(peak_shared_site_least, "the same, where only the largest stacks are known",
		 "At its sampled peak, {ago}, about {bytes} was allocated in {name}, which was called in at least {count} different ways. That was {percent}% of what samples showed.", NULL)
SENTENCE(peak_statement, "the statement of that peak is known",
		 "Statement at that peak: {query}", NULL)
SENTENCE(peak_statement_most, "what is told of that peak was of several statements",
		 "Statement that held most at that peak: {query}", NULL)
SENTENCE(day_peak, "a statement of the last 24 hours took much more than there is now",
		 "Its statements' highest peak of the last 24 hours: {bytes}, {ago}.", NULL)
SENTENCE(day_peak_counted, "the same, and its private memory was counted meanwhile",
		 "Its largest statement of the last 24 hours, {ago}: private memory was {total} at most when it was counted. The statement's samples stand for {bytes} of that.", NULL)
SENTENCE(day_statement, "its text is known", "Statement of that peak: {query}", NULL)
SENTENCE(day_allowed, "most of it was in nodes of its plan",
		 "Its settings allowed {bytes} for a hash table, the most that a node of a plan may take.", NULL)
SENTENCE(day_maintained, "it built an index, or vacuumed",
		 "Its settings, such as maintenance_work_mem, allowed {bytes}.", NULL)
SENTENCE(examples, "it is known what contexts are of",
		 "Contexts named \"{context}\": {list}.", NULL)
SENTENCE(examples_such, "the same of a few of them",
		 "Contexts named \"{context}\", for example: {list}.", NULL)

SENTENCE(contexts_are, "before findings", "{list}", NULL)

SECTION("A finding: what it is about")
SENTENCE(verdict, "each of the three largest findings", "Verdict: {verdict} {cause}.", NULL)
PHRASE(cause_site, "a call site", "at {site} in {context}", NULL)
PHRASE(cause_sites, "several call sites of one cause", "at {count} call sites of {site} in {context}", NULL)
PHRASE(cause_contexts, "memory contexts", "{title}", NULL)
PHRASE(cause_statement, "a statement",
	   "the running statement or transaction", "the last statement or transaction")
PHRASE(cause_cursor, "a cursor that is open", "an open cursor", NULL)
PHRASE(cause_cursors, "several cursors that are open", "open cursors", NULL)
PHRASE(cause_result, "a statement whose client has not closed it", "an open result", NULL)
PHRASE(cause_transaction, "a transaction in which no statement runs", "an idle transaction", NULL)
PHRASE(cause_malloc, "malloc", "memory that malloc gave out outside of memory contexts", NULL)
PHRASE(cause_mapped, "what others map", "memory that is neither in memory contexts nor malloc's", NULL)
PHRASE(cause_outside, "memory outside of contexts, where malloc does not tell what it has",
	   "memory outside of memory contexts", NULL)
PHRASE(cause_freed, "what malloc keeps", "memory that malloc keeps although it was freed", NULL)
PHRASE(cause_process, "nothing smaller", "the process as a whole", NULL)
PHRASE(in_brackets, "all of these but a call site, within a sentence", "({cause})", NULL)
SENTENCE(held_at, "a call site has much of what was sampled in these contexts",
		 "The largest part of what was sampled in them is held at {site}.",
		 "The largest part of what was sampled in them was held at {site}.")
PLURAL(share_all, "it holds all",
	   "This call site holds all of the process' sampled memory.",
	   "These call sites hold all of the process' sampled memory.",
	   "This call site held all of the process' sampled memory.",
	   "These call sites held all of the process' sampled memory.")
PLURAL(share_little, "it holds little",
	   "This call site holds less than 1% of the process' sampled memory.",
	   "These call sites hold less than 1% of the process' sampled memory.",
	   "This call site held less than 1% of the process' sampled memory.",
	   "These call sites held less than 1% of the process' sampled memory.")
PLURAL(share_part, "it holds a part",
	   "This call site holds {percent}% of the process' sampled memory.",
	   "These call sites hold {percent}% of the process' sampled memory.",
	   "This call site held {percent}% of the process' sampled memory.",
	   "These call sites held {percent}% of the process' sampled memory.")

SENTENCE(evidence, "the evidence: the sentences below", "{list}", NULL)

SECTION("A finding: call sites")
PLURAL(left, "a leak that grows now",
	   "{bytes} of the {total} allocated here has not been freed, and it keeps growing.",
	   "{bytes} of the {total} allocated here in at least {count} statements has not been freed, and it keeps growing.",
	   "{bytes} of the {total} allocated here had not been freed, and it kept growing.",
	   "{bytes} of the {total} allocated here in at least {count} statements had not been freed, and it kept growing.")
SENTENCE(rounding, "the chunks of call sites take a quarter more than what was asked for, or more",
		 "With rounding and headers, these chunks take about {total}.",
		 "With rounding and headers, these chunks took about {total}.")
PLURAL(left_until, "a leak that grew until then",
	   "{bytes} of the {total} allocated here has not been freed, and it kept growing until {since}.",
	   "{bytes} of the {total} allocated here in at least {count} statements has not been freed, and it kept growing until {since}.",
	   "{bytes} of the {total} allocated here had not been freed, and it kept growing until {since}.",
	   "{bytes} of the {total} allocated here in at least {count} statements had not been freed, and it kept growing until {since}.")
PLURAL(enlarged, "most was freed, as of what is enlarged again and again",
	   "{bytes} is still held; the rest of the {total} allocated here over time was freed.",
	   "{bytes} is still held; the rest of the {total} allocated here over time in at least {count} statements was freed.",
	   "{bytes} was still held; the rest of the {total} allocated here over time had been freed.",
	   "{bytes} was still held; the rest of the {total} allocated here over time in at least {count} statements had been freed.")
SENTENCE(enlarged_grows, "that grows now",
		 "What is held keeps growing.", "What was held kept growing.")
SENTENCE(enlarged_until, "that grew until then",
		 "What is held kept growing until {since}.", "What was held kept growing until {since}.")
PLURAL(left_lost, "a part of it, or all, is lost",
	   "{total} allocated here has not been freed.",
	   "{total} allocated here in at least {count} statements has not been freed.",
	   "{total} allocated here had not been freed.",
	   "{total} allocated here in at least {count} statements had not been freed.")
PHRASE(nothing_points, "a current proof", "Nothing points", "Nothing pointed")
PHRASE(nothing_pointed, "a proof of another moment", "At {since} nothing pointed", NULL)
SENTENCE(lost_all, "a proof says that all of it is lost",
		 "{what} to any of it: no code can use it or free it.",
		 "{what} to any of it: no code could use it or free it.")
SENTENCE(lost_part, "the same of a part",
		 "{what} to {bytes} of it: no code can use or free that.",
		 "{what} to {bytes} of it: no code could use or free that.")
SENTENCE(loose_all, "all of it is lost, in a context that can be reset",
		 "{what} to any of it, but a reset of its memory context frees it.",
		 "{what} to any of it, but a reset of its memory context would have freed it.")
SENTENCE(loose_part, "the same of a part",
		 "{what} to {bytes} of it, but a reset of its memory context frees that.",
		 "{what} to {bytes} of it, but a reset of its memory context would have freed that.")
SENTENCE(loose_more, "the same, and another part is lost for good",
		 "{what} to another {bytes} of it, but a reset of its memory context frees that.",
		 "{what} to another {bytes} of it, but a reset of its memory context would have freed that.")
SENTENCE(lost_contexts, "a proof says that contexts are lost as a whole",
		 "{what} to {count} of these contexts: no code can use or delete those before the {noun} ends.",
		 "{what} to {count} of these contexts: no code could use or delete those before the {noun} ended.")
SENTENCE(reached_all, "a proof says who holds it",
		 "All of it can be reached from {who}.", "All of it could be reached from {who}.")
SENTENCE(reached_part, "the same of a part",
		 "{bytes} of it can be reached from {who}.", "{bytes} of it could be reached from {who}.")
SENTENCE(reached_all_then, "the same at another moment",
		 "At {since} all of it could be reached from {who}.", NULL)
SENTENCE(reached_part_then, "the same of a part",
		 "At {since} {bytes} of it could be reached from {who}.", NULL)
PHRASE(holder_of_most, "several hold it", "several places, {most} of it from {name}", NULL)
PHRASE(holder_unnamed, "who holds it has no name", "memory without a name", NULL)
SENTENCE(reached_by, "the way from the holder is known", "The way to it: {list}.", NULL)
SENTENCE(unproven, "much came after the proof",
		 "{bytes} more was allocated later, and is not proven.", NULL)
SENTENCE(reached_may_end, "it grows as a leak does, but can be reached",
		 "Below {limit} that may be a cache that fills, or a queue.",
		 "Below {limit} that may have been a cache that filled, or a queue.")
SENTENCE(most_unwritten, "most of it takes no memory",
		 "At the last count most of it had not been written to, so it took less memory than that.", NULL)
SENTENCE(part_unwritten, "part of it takes no memory",
		 "At the last count part of it had not been written to, so it took less memory than that.", NULL)
PLURAL(rates, "a leak",
	   "It grew by {late} in the last transaction, and by {early} per transaction over the {early_count} before.",
	   "It grew by {late} per transaction over the last {count} transactions, and by {early} over the {early_count} before.", NULL, NULL)
SENTENCE(rates_by_second, "the same, in one transaction or in none",
		 "It grew by {rate} per second in the last {span} of its growth.",
		 "It had grown by {rate} per second in the last {span} of its growth.")
SENTENCE(rates_seconds, "its transactions were long",
		 "Of a long transaction, each second counts as one.", NULL)
SENTENCE(rates_all, "other transactions allocated nothing there",
		 "All transactions count, even those that never called this function.", NULL)
SENTENCE(grown, "it has grown since the baseline",
		 "It holds {bytes}, {growth} more than at the baseline.",
		 "It held {bytes}, {growth} more than at the baseline.")
SENTENCE(grown_by_statements, "many statements share it",
		 "Each of {count} statements has too little of it to tell a leak from a cache.", NULL)
SENTENCE(grown_by_lines, "many lines of SQL functions share it",
		 "Each of the {count} lines of SQL functions that lead there has too little of it to tell a leak from a cache.", NULL)
SENTENCE(grown_lately, "there were few transactions",
		 "Too little has happened since its first allocation to tell a leak from a cache.", NULL)
SENTENCE(held_running, "a transaction that runs has left it in the session",
		 "The running transaction holds {bytes} allocated here, in memory that lives as long as the {noun}. It is not freed when the statement ends.",
		 "The last transaction held {bytes} allocated here, in memory that lived as long as the {noun}. It was not freed when the statement ended.")
PLURAL(held, "a few transactions have left it",
	   "{count} finished transaction left {bytes} of the {total} allocated here.",
	   "{count} finished transactions left {bytes} of the {total} allocated here.", NULL, NULL)
PLURAL(held_by_statements, "the same, and several statements",
	   "{count} finished transaction left {bytes} of the {total} allocated here in at least {statements} statements.",
	   "{count} finished transactions left {bytes} of the {total} allocated here in at least {statements} statements.", NULL, NULL)
SENTENCE(held_stays, "it lives",
		 "It stays until the {noun} ends, unless the code that allocated it frees it.", NULL)

SECTION("A finding: memory contexts")
PLURAL(contexts, "contexts of a kind that is known",
	   "At the last count {count} context for {title} held {bytes}.",
	   "At the last count {count} contexts for {title} held {bytes}.", NULL, NULL)
PLURAL(contexts_named, "contexts of another name",
	   "At the last count {count} context named \"{title}\" held {bytes}.",
	   "At the last count {count} contexts named \"{title}\" held {bytes}.", NULL, NULL)
SENTENCE(contexts_added, "they keep becoming more",
		 "Of these, {count} contexts and {bytes} were added after {since}.", NULL)
SENTENCE(contexts_free, "they are mostly empty",
		 "Most of that is free space inside them, which no other context can use.",
		 "Most of that was free space inside them, which no other context could use.")
SENTENCE(contexts_stay, "nothing is known of them",
		 "They stay until the {noun} ends, unless the code that created them deletes them.",
		 "They stayed until the {noun} ended, as the code that had created them did not delete them.")
SENTENCE(cache, "a cache of PostgreSQL",
		 "At the last count {title} held {bytes}, of which {late} was added after {since}.", NULL)
SENTENCE(cache_is_no_leak, "a cache of PostgreSQL", "This is no leak.", NULL)
SENTENCE(cache_statistics, "most of that cache is statistics of columns, also without a verdict",
		 "Most of what was sampled in it is statistics of columns, which the planner has read. It keeps those of each column, and the column's statistics target limits their size.",
		 "Most of what was sampled in it was statistics of columns, which the planner had read. It kept those of each column, and the column's statistics target limited their size.")
PLURAL(locks_held, "locks, and it lives",
	   "The session holds {count} lock now: {relations} on relations, {advisory} advisory.",
	   "The session holds {count} locks now: {relations} on relations, {advisory} advisory.", NULL, NULL)
SENTENCE(locks_none, "the same, and they are released", "The session holds no lock now.", NULL)
SENTENCE(family, "what is known of contexts of that kind", "{what} {bound}", NULL)
SENTENCE(phase_decoding_catalogs, "for changes to catalogs",
		 "Decoding keeps the invalidations and row versions of a transaction until it has been sent. logical_decoding_work_mem does not limit them.", NULL)
SENTENCE(decoding_kept, "buffers of the session are part of what is decoded",
		 "Another {bytes} was allocated to decode or send this, in memory that lives as long as the {noun}.",
		 "Another {bytes} was allocated to decode or send this, in memory that lived as long as the {noun}.")
SENTENCE(decoding_value, "a value that is decoded is large",
		 "A single value or row takes {bytes} of it. No setting limits that.",
		 "A single value or row took {bytes} of it. No setting limits that.")
SENTENCE(plugin_allocated, "samples show that most is an output plugin's",
		 "By its samples, most of it was allocated by {library}, an output plugin. It stays until the plugin frees it, or decoding ends.",
		 "By its samples, most of it was allocated by {library}, an output plugin.")

SECTION("A finding: a statement")
SENTENCE(statement, "it holds more than its settings allow",
		 "The running {noun} holds {bytes}.", "The last {noun} held {bytes}.")
SENTENCE(statement_most_unwritten, "most of it takes no memory",
		 "The running {noun} has allocated {bytes}, most of which had not been written to at the last count.",
		 "The last {noun} had allocated {bytes}, most of which had not been written to at the last count.")
SENTENCE(statement_part_unwritten, "part of it takes no memory",
		 "The running {noun} has allocated {bytes}, part of which had not been written to at the last count.",
		 "The last {noun} had allocated {bytes}, part of which had not been written to at the last count.")
SENTENCE(statement_counted, "part of it came after the last count",
		 "{bytes} of that was counted, and samples show the rest, which came later and may not be written to yet.", NULL)
SENTENCE(shares, "call sites have much of it", "By call site: {list}.", NULL)
PHRASE(share, "in that list", "{percent}% at {site} in {context}", NULL)
PHRASE(share_largest, "in that list, of a function that is called at several lines",
	   "{percent}% at {site} in {context} ({most}% at {name})", NULL)
SENTENCE(shares_many, "there are more call sites than are known one by one",
		 "The other {percent}% is at many call sites, none above {most}%.",
		 "The other {percent}% was at many call sites, none above {most}%.")
SENTENCE(shares_other, "others have some, too",
		 "{percent}% is at other call sites, none above {most}%.",
		 "{percent}% was at other call sites, none above {most}%.")
SENTENCE(shares_unknown, "part of it was not sampled",
		 "No call site is known for the other {percent}%: free space, rounding, and what was not sampled.", NULL)
PLURAL(shared_frame, "one function leads to most of it",
	   "By its samples, {percent}% of it was allocated in {name} and the functions that it calls, at one call site.",
	   "By its samples, {percent}% of it was allocated in {name} and the functions that it calls, at {count} call sites.", NULL, NULL)
SENTENCE(shared_frame_least, "the same, where only the largest stacks are known",
		 "By its samples, {percent}% of it was allocated in {name} and the functions that it calls, at {count} call sites or more.", NULL)
PLURAL(shared_frame_site, "one function has most of it, and none of the stacks that lead to it has much",
	   "By its samples, {percent}% of it was allocated in {name}, which was called in one way.",
	   "By its samples, {percent}% of it was allocated in {name}, which was called in {count} different ways.", NULL, NULL)
SENTENCE(shared_frame_site_least, "the same, where only the largest stacks are known",
		 "By its samples, {percent}% of it was allocated in {name}, which was called in at least {count} different ways.", NULL)
SENTENCE(rounding_adds, "the chunks of its largest call sites take a quarter more than what was asked for, or more",
		 "Rounding and headers of chunks add about {bytes} to the sizes asked for at its largest call sites.",
		 "Rounding and headers of chunks added about {bytes} to the sizes asked for at its largest call sites.")
SENTENCE(scattered, "no call site has much",
		 "By its samples, no call site has more than {percent}% of it.", NULL)
SENTENCE(statement_part, "contexts of one kind have much of it",
		 "{bytes} of it is for {title}. {what} {bound}",
		 "{bytes} of it was for {title}. {what} {bound}")
SENTENCE(node, "a node of its plan has much of it",
		 "{bytes} of it is in one hash table or sort.",
		 "{bytes} of it was in one hash table or sort.")
SENTENCE(nodes, "nodes of its plan have much of it",
		 "{bytes} of it is in {count} hash tables and sorts, {each} each on average.",
		 "{bytes} of it was in {count} hash tables and sorts, {each} each on average.")
SENTENCE(plan_limit, "the plan has several nodes that settings limit",
		 "Its plan has {count} nodes that sort, hash or keep rows; its settings allow {limit} to all of them.",
		 "Its plan had {count} nodes that sort, hash or keep rows; its settings allowed {limit} to all of them.")
PLURAL(plan_limit_workers, "the same, and parallel workers run it, too",
	   "Its plan has {count} node that sorts, hashes or keeps rows; its settings allow {limit} to it, its parallel workers ({workers}) included.",
	   "Its plan has {count} nodes that sort, hash or keep rows; its settings allow {limit} to all of them, its parallel workers ({workers}) included.",
	   "Its plan had {count} node that sorts, hashes or keeps rows; its settings allowed {limit} to it, its parallel workers ({workers}) included.",
	   "Its plan had {count} nodes that sort, hash or keep rows; its settings allowed {limit} to all of them, its parallel workers ({workers}) included.")
SENTENCE(limit_maintenance, "an index is built, or a table vacuumed",
		 "maintenance_work_mem allows {limit}.", "maintenance_work_mem allowed {limit}.")
SENTENCE(limit_autovacuum, "the same by autovacuum",
		 "autovacuum_work_mem, or maintenance_work_mem where that is -1, allows {limit}.",
		 "autovacuum_work_mem, or maintenance_work_mem where that is -1, allowed {limit}.")
SENTENCE(limit_decoding, "the log is decoded",
		 "logical_decoding_work_mem allows {limit} for the changes of transactions.",
		 "logical_decoding_work_mem allowed {limit} for the changes of transactions.")
SENTENCE(limit_sorts, "sorts",
		 "work_mem allows {limit} for each sort.", "work_mem allowed {limit} for each sort.")
SENTENCE(limit_hashes, "hash tables",
		 "work_mem and hash_mem_multiplier allow {limit} for each hash table.",
		 "work_mem and hash_mem_multiplier allowed {limit} for each hash table.")
SENTENCE(limit_build, "an index is built, and its functions may hold it",
		 "maintenance_work_mem allows {limit} for the build's own data. It does not limit what functions of the index keep.",
		 "maintenance_work_mem allowed {limit} for the build's own data. It did not limit what functions of the index kept.")
SENTENCE(phase, "samples show what most of it was for",
		 "By its samples, {percent}% of it was allocated {what}.", NULL)
SENTENCE(phase_of_shared, "the same, after the function that leads to most of it",
		 "All of that was allocated {what}.", NULL)
PHRASE(purpose_parsing, "what it was for", "for parsing", NULL)
PHRASE(purpose_rewriting, "the same", "for rewriting", NULL)
PHRASE(purpose_planning, "the same", "for planning", NULL)
PHRASE(purpose_joins, "the same", "for planning joins", NULL)
PHRASE(purpose_partitions, "the same", "for planning partitions", NULL)
PHRASE(purpose_starting, "the same", "for starting the plan", NULL)
PHRASE(purpose_copying, "the same", "by COPY itself", NULL)
PHRASE(purpose_copy_reading, "the same", "for reading COPY's input", NULL)
PHRASE(purpose_index_build, "the same", "while an index was built", NULL)
PHRASE(purpose_vacuum, "the same", "while a table was vacuumed", NULL)
PHRASE(purpose_commit, "the same", "at the end of a transaction or subtransaction", NULL)
PHRASE(purpose_decoding_catalogs, "the same", "for changes to catalogs", NULL)
PHRASE(purpose_cache_rebuild, "the same",
	   "while the session read from the catalogs what its tables are like", NULL)
PHRASE(purpose_jit, "the same", "while the plan was compiled (JIT)", NULL)
SENTENCE(phase_parsing, "for parsing",
		 "Parse trees take many times the length of the statement's text.", NULL)
SENTENCE(phase_rewriting, "for rewriting",
		 "Each view and rule is replaced by what it stands for.", NULL)
SENTENCE(phase_planning, "for planning",
		 "The planner keeps all that it considers until the plan is made. No setting limits that in bytes.", NULL)
SENTENCE(phase_joins, "for planning joins",
		 "The planner keeps each order of joins that it considers until the plan is made. No setting limits that in bytes.", NULL)
SENTENCE(phase_partitions, "for planning partitions",
		 "The planner keeps what it considers of each of them until the plan is made.", NULL)
SENTENCE(phase_starting, "for starting a plan",
		 "Each node, expression and partition has a state of its own until the statement ends.", NULL)
SENTENCE(phase_copy_reading, "for reading COPY's input",
		 "COPY keeps one row of its input at a time.", NULL)
SENTENCE(besides, "contexts of another kind have much of it, too",
		 "Besides, {bytes} is held for {title}. {what}",
		 "Besides, {bytes} was held for {title}. {what}")
SENTENCE(held_for, "no call site is named",
		 "{bytes} of it is held for {title}. {what}", "{bytes} of it was held for {title}. {what}")
SENTENCE(ends_with_transaction, "it lives, and the memory is the transaction's",
		 "The memory is freed at COMMIT or ROLLBACK at the latest.", NULL)
SENTENCE(ends_with_statement, "it lives, and the memory is the statement's",
		 "The memory is freed when the statement ends, or its cursor is closed.", NULL)
SENTENCE(ends, "it lives, and the memory is of both", "The memory is freed when it ends.", NULL)
PHRASE(noun_statement, "a statement", "statement", NULL)
PHRASE(noun_transaction, "a transaction", "transaction", NULL)
PHRASE(noun_either, "either", "statement or transaction", NULL)

SECTION("Cursors, and transactions that wait")
SENTENCE(cursor_holds, "a cursor that is open has most of what ends with statements",
		 "Cursor \"{name}\", opened at {since}, holds {bytes}.",
		 "Cursor \"{name}\", opened at {since}, held {bytes}.")
SENTENCE(result_holds, "the same of a portal without a name",
		 "The result of a statement that began at {since} is still open, and holds {bytes}.",
		 "The result of a statement that began at {since} was still open, and held {bytes}.")
PLURAL(cursors_hold, "several cursors are open",
	   "{count} open cursor holds {bytes}.", "{count} open cursors hold {bytes}.",
	   "{count} open cursor held {bytes}.", "{count} open cursors held {bytes}.")
SENTENCE(cursor_largest, "the same",
		 "The largest is \"{name}\", opened at {since}, with {most}.",
		 "The largest was \"{name}\", opened at {since}, with {most}.")
SENTENCE(cursor_for, "contexts of one kind have most of it",
		 "{bytes} of that is for {title}.", "{bytes} of that was for {title}.")
SENTENCE(transaction_waits, "a session waits within its transaction",
		 "The transaction has been idle since {since}.", NULL)
SENTENCE(transaction_holds, "the same, where the finding is on that",
		 "The transaction, idle since {since}, holds {bytes}.", NULL)
SENTENCE(transaction_within, "it waits, and no cursor has most",
		 "The transaction has been idle since {since}. The most that it holds at one site is {bytes} at {site} in {context}.", NULL)
SENTENCE(cursor_frees, "cursors", "CLOSE, COMMIT or ROLLBACK frees this.",
		 "CLOSE, COMMIT or ROLLBACK would have freed this.")
SENTENCE(cursor_with_hold_frees, "a cursor WITH HOLD",
		 "CLOSE or ROLLBACK frees this. COMMIT keeps the cursor's rows, as it is WITH HOLD.",
		 "CLOSE or ROLLBACK would have freed this. COMMIT would have kept the cursor's rows, as it was WITH HOLD.")
SENTENCE(result_frees, "a portal without a name",
		 "COMMIT or ROLLBACK frees this, and often the session's next statement.",
		 "COMMIT or ROLLBACK would have freed this, and often the session's next statement.")
SENTENCE(transaction_frees, "a transaction that waits",
		 "COMMIT or ROLLBACK frees this.", "COMMIT or ROLLBACK would have freed this.")
SENTENCE(holder_is_no_leak, "there is no finding", "This is no leak.", NULL)
SENTENCE(cursor_statement, "the statement of a cursor is known", "Statement of the open cursor: {query}", NULL)
SENTENCE(cursor_statement_largest, "the same of several",
		 "Statement of the largest open cursor: {query}", NULL)
SENTENCE(result_statement, "the same of a portal without a name",
		 "Statement of the open result: {query}", NULL)
SENTENCE(cursor_beside, "malloc has given out much while a cursor is open",
		 "Cursor \"{name}\" has been open since {since}: its statement may need this until it is closed.", NULL)

SECTION("A finding: the process as a whole")
SENTENCE(process_grown, "what it keeps has grown",
		 "At the last count this {noun} held {bytes} that no statement will free: {growth} more than {span} earlier, {late} of it in the second half of that time. No single cause explains most of it.", NULL)
SENTENCE(process_parts, "kinds of contexts have much of it", "Its largest parts: {list}.", NULL)
SENTENCE(malloc_grown, "malloc has given out much outside of contexts",
		 "At the last count malloc had given out {bytes} outside of memory contexts, {growth} more than {span} earlier, {late} of it in the second half of that time.", NULL)
SENTENCE(malloc_large, "the same, and it has not grown",
		 "At the last count malloc had given out {bytes} outside of memory contexts, which is no more than {span} earlier.", NULL)
SENTENCE(malloc_large_once, "the same, and there was one count",
		 "At the last count malloc had given out {bytes} outside of memory contexts.", NULL)
SENTENCE(malloc_sampled, "malloc is sampled", "The call sites of {bytes} of it are known.", NULL)
SENTENCE(malloc_unsampled, "there are threads that are not sampled",
		 "Threads that are not sampled have allocated {other} in all.", NULL)
SENTENCE(mapped_grown, "something else maps memory",
		 "At the last count {bytes} of this process belonged neither to memory contexts nor to malloc, {growth} more than {span} earlier, {late} of it in the second half of that time.", NULL)
SENTENCE(mapped_large, "the same, and it has not grown",
		 "At the last count {bytes} of this process belonged neither to memory contexts nor to malloc, which is no more than {span} earlier.", NULL)
SENTENCE(mapped_large_once, "the same, and there was one count",
		 "At the last count {bytes} of this process belonged neither to memory contexts nor to malloc.", NULL)
SENTENCE(outside_grown, "malloc does not tell what it has, and memory outside of contexts has grown",
		 "At the last count at least {bytes} of private memory was outside of memory contexts, {growth} more than {span} earlier, {late} of it in the second half of that time.", NULL)
SENTENCE(outside_large, "the same, and it has not grown",
		 "At the last count at least {bytes} of private memory was outside of memory contexts, which is no more than {span} earlier.", NULL)
SENTENCE(outside_large_once, "the same, and there was one count",
		 "At the last count at least {bytes} of private memory was outside of memory contexts.", NULL)
SENTENCE(outside_may_be_free, "both",
		 "Libraries use it, or have freed it and malloc keeps it.",
		 "Libraries used it, or had freed it and malloc kept it.")
PHRASE(late_all, "the second half has all", "all", NULL)
PHRASE(late_none, "the second half has nothing", "none", NULL)
SENTENCE(freed, "malloc keeps much that was freed",
		 "At the last count malloc kept {bytes} that was freed, besides {other} in use.", NULL)
SENTENCE(freed_is_used, "nothing was added to it",
		 "malloc uses it again for what fits, before it asks the kernel for more.", NULL)
SENTENCE(freed_added, "much was added to it, and to private memory",
		 "{growth} of that was added after {since}: what was free before was not enough, or did not fit.", NULL)
SENTENCE(freed_from_outside, "memory contexts never had half of it",
		 "Memory contexts had {total} at most, so most of what was freed was allocated outside of them.", NULL)
SENTENCE(freed_until_end, "it lives", "The kernel gets it back when the {noun} ends.", NULL)
SENTENCE(malloc_by_samples, "samples of malloc are of one statement",
		 "By its samples, {bytes} of that was allocated for one statement.", NULL)
SENTENCE(malloc_while_ran, "it came while a statement ran",
		 "While one statement ran, memory from malloc grew by at least {bytes}.", NULL)
SENTENCE(mapped_while_ran, "the same of mapped memory",
		 "While one statement ran, memory that libraries have mapped grew by at least {bytes}.", NULL)
SENTENCE(kept_while_ran, "the same of memory that malloc keeps",
		 "While one statement ran, at least {bytes} of it was allocated and freed.", NULL)
SENTENCE(outside_while_ran, "the same where malloc does not tell what it has",
		 "While one statement ran, memory outside of memory contexts grew by at least {bytes}.", NULL)
SENTENCE(malloc_at_begin, "it came when the statement began that runs",
		 "Of this, {bytes} came after the last count before the running statement began. Either that statement allocated it, or a short one just before it.", NULL)
SENTENCE(malloc_before_counts, "nothing was counted before that",
		 "Nothing was counted before the running statement began. Either that statement allocated this, or an earlier one.", NULL)
SENTENCE(malloc_of_unknown, "neither", "It is not known which statement allocated this.", NULL)
SENTENCE(libraries, "no call site of malloc is known",
		 "Libraries that call malloc, loaded by this process: {loaded}; linked to the server: {linked}.", NULL)
PHRASE(libraries_none, "there are none", "none", NULL)
SENTENCE(libraries_jit, "it has loaded the compiler of queries",
		 "It has compiled queries (jit).", NULL)
SENTENCE(libraries_server, "nothing loaded, where PostgreSQL itself calls malloc for these (until 15)",
		 "PostgreSQL itself keeps by malloc values of settings and, as compiled, the last 32 regular expressions.", NULL)
SENTENCE(libraries_unknown, "its maps can't be read",
		 "It is not known which libraries it has loaded.", NULL)

SECTION("A finding: how old, by which routine, for which statement")
SENTENCE(ages, "the largest finding, at one call site", "{list}", NULL)
SENTENCE(age_old, "nearly all is old, as in a cache",
		 "{percent} of what this call site holds is older than {age}.",
		 "{percent} of what this call site held was older than {age}.")
SENTENCE(age_young, "nearly all is young, as in a queue",
		 "{percent} of what this call site holds was allocated in the last {age}; of the {total} allocated there before, {bytes} is left.",
		 "{percent} of what this call site held was allocated in the last {age} of its process; of the {total} allocated there before, {bytes} was left.")
PHRASE(age_all, "all of it", "All", NULL)
PHRASE(age_nothing, "nothing of it", "nothing", NULL)
PHRASE(age_little, "hardly any of it", "less than 1%", NULL)
PHRASE(age_percent, "a part of it", "{count}%", NULL)
SENTENCE(age_half, "all ages",
		 "Half of what this call site holds is older than {age}.",
		 "Half of what this call site held was older than {age}.")
SENTENCE(age_none_freed, "all is left, as of a leak",
		 "Nothing that it allocated since {since} has been freed.",
		 "Nothing that it allocated since {since} had been freed.")
SENTENCE(age_even, "as much is left of each time's allocations as of the next",
		 "Of what it allocated since {since}, {percent} is left, in steps of {span}.",
		 "Of what it allocated since {since}, {percent} was left, in steps of {span}.")
SENTENCE(age_between, "about as much",
		 "Of what it allocated since {since}, {most} to {percent} is left, in steps of {span}.",
		 "Of what it allocated since {since}, {most} to {percent} was left, in steps of {span}.")
SENTENCE(site_is, "the binary lacks the name of the function", "The site is {site}.", NULL)
SENTENCE(routines, "functions in SQL or a procedural language led there",
		 "Allocated in {routines}.", NULL)
SENTENCE(routines_most, "the same of several call sites",
		 "The largest part was allocated in {routines}.", NULL)
SENTENCE(query_holds_most, "of several statements",
		 "Statement that holds most: {query}", "Statement that held most: {query}")
SENTENCE(query_such_as, "of contexts", "Allocated by statements such as: {query}", NULL)
SENTENCE(query_of_form, "of several transactions",
		 "Allocated by statements of this form: {query}", NULL)
SENTENCE(query_of_one, "of one transaction", "Allocated by the statement: {query}", NULL)

SECTION("A finding: what to do next")
SENTENCE(next, "each finding", "Next: {next}", NULL)
SENTENCE(help, "contexts or functions that are known", "{help}", NULL)
SENTENCE(report_to_authors, "a leak in an extension",
		 "Report this to the authors of {library}, with what pg_leakhunt_suspects shows as \"stack\".", NULL)
SENTENCE(language_ran, "a leak in a procedural language",
		 "A {language} function was running when this was allocated.", NULL)
SENTENCE(language_keeps, "malloc's memory in a procedural language",
		 "See what it keeps in {store}. If it keeps nothing there, a module or a function that it calls never frees this.", NULL)
SENTENCE(language_calls, "contexts' memory in a procedural language",
		 "See which functions it calls: one of them, or PostgreSQL itself, never frees this. If it is PostgreSQL, a newer minor release may fix it.", NULL)
SENTENCE(author_of_statement, "a leak in the server's own code, of a session",
		 "See which functions the statement calls: one of them, or PostgreSQL itself, never frees this. If it is PostgreSQL, a newer minor release may fix it.", NULL)
SENTENCE(author_of_worker, "the same of a background worker",
		 "See which extension started this background worker: its code, or PostgreSQL itself, never frees this. If it is PostgreSQL, a newer minor release may fix it.", NULL)
SENTENCE(author_of_vacuum, "the same of an autovacuum worker",
		 "A newer minor release of PostgreSQL may fix it. If not, look at the functions in index expressions.", NULL)
SENTENCE(author_is_core, "the same of another process",
		 "A newer minor release of PostgreSQL may fix it. If not, report it to PostgreSQL's developers, with what pg_leakhunt_suspects shows as \"stack\".", NULL)
SENTENCE(look_at_holder, "what grows, and can be reached",
		 "See what adds to {who}, and whether anything is ever removed from it.", NULL)
SENTENCE(no_hurry, "a leak of which most was never written to",
		 "There is no hurry: most of it was never written to, and takes no memory.", NULL)
SENTENCE(no_need, "what is held and was never written to",
		 "There is no need to act: most of it was never written to, and takes no memory.", NULL)
SENTENCE(recycle_session, "what keeps growing in a session",
		 "Until this is fixed, limit how long such connections live (a pool's max lifetime), or end them from time to time: SELECT pg_terminate_backend({pid}).",
		 "Until this is fixed, limit how long such connections live (a pool's max lifetime), or end them from time to time.")
SENTENCE(recycle_worker, "the same of a worker",
		 "Until this is fixed, restart such {noun}s from time to time: SELECT pg_terminate_backend({pid}).",
		 "Until this is fixed, restart such {noun}s from time to time.")
SENTENCE(recycle_passing, "the same of a worker that ends with its work",
		 "Each {noun} frees it when it ends.", NULL)
SENTENCE(recycle_server, "the same of any other process",
		 "Until this is fixed, only a restart of the server frees it.", NULL)
SENTENCE(end_session, "what a session keeps",
		 "End the session, unless it will need this memory again: SELECT pg_terminate_backend({pid}).",
		 "If the session still runs, end it, unless it will need this memory again.")
SENTENCE(end_worker, "what a worker keeps",
		 "Restart the {noun}, unless it will need this memory again: SELECT pg_terminate_backend({pid}).",
		 "If the {noun} still runs, end it, unless it will need this memory again.")
SENTENCE(end_passing, "what a worker keeps that ends with its work",
		 "Wait until the {noun} ends: it does so with its work.",
		 "If the {noun} still runs, wait until it ends: it does so with its work.")
SENTENCE(end_server, "what any other process keeps",
		 "A restart of the server frees this memory.",
		 "If the {noun} still runs, a restart of the server frees this memory.")
SENTENCE(end_is_over, "it has crashed",
		 "There is nothing to do: the memory was freed when the {noun} ended.", NULL)
SENTENCE(end_now, "what a session keeps can be freed at once",
		 "To free it now, end the session: SELECT pg_terminate_backend({pid}).", NULL)
SENTENCE(cancel_now, "a statement that runs",
		 "To free it now: SELECT pg_cancel_backend({pid}).", NULL)
SENTENCE(cancel_or_end_now, "it is not known whether it runs",
		 "To free it now: SELECT pg_cancel_backend({pid}), or pg_terminate_backend({pid}) if the session is idle in transaction.", NULL)
SENTENCE(cancel_savepoints, "subtransactions of a statement that runs",
		 "To free it now: SELECT pg_cancel_backend({pid}). If its client has set savepoints, this frees nothing before ROLLBACK or COMMIT; then end the session: SELECT pg_terminate_backend({pid}).", NULL)
SENTENCE(cancel_to_see, "memory outside of contexts that came with the running statement",
		 "Cancel the statement to see whether that frees the memory: SELECT pg_cancel_backend({pid}). If it does not, end the session: SELECT pg_terminate_backend({pid}).", NULL)
SENTENCE(cancel_dblink, "the same where dblink is loaded",
		 "What dblink has received of an unfinished result may stay until dblink_disconnect(), or until the session ends.", NULL)
SENTENCE(close_cursors, "cursors that are open",
		 "Let the application CLOSE cursors that it has read, or COMMIT: only its own session can.", NULL)
SENTENCE(close_held_cursors, "the same, of a cursor WITH HOLD",
		 "Let the application CLOSE cursors that it has read: only its own session can.", NULL)
SENTENCE(end_transaction, "a transaction that waits, or a result",
		 "Let the application end its transaction with COMMIT or ROLLBACK: only its own session can.", NULL)
SENTENCE(idle_timeout, "the session waits",
		 "The setting idle_in_transaction_session_timeout ends sessions that wait for longer.", NULL)
SENTENCE(trim, "what malloc keeps in a session",
		 "To give it back to the kernel: SELECT pg_leakhunt_trim({pid}).", NULL)
SENTENCE(trim_threshold, "what glibc's malloc keeps",
		 "With MALLOC_TRIM_THRESHOLD_=131072 in the server's environment, glibc gives blocks of 128 kB and more back as soon as they are freed.", NULL)
SENTENCE(trim_arenas, "the same, and much of it in arenas of threads",
		 "At least {bytes} of it is in arenas that glibc made for threads of a library. With MALLOC_ARENA_MAX=1 in the server's environment, all threads share one arena.", NULL)
SENTENCE(trim_jemalloc, "what jemalloc keeps",
		 "With MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0 in the server's environment, jemalloc gives memory back as soon as it is freed.", NULL)
SENTENCE(trim_tcmalloc, "what tcmalloc keeps",
		 "With TCMALLOC_AGGRESSIVE_DECOMMIT=1 in the server's environment, tcmalloc gives memory back as soon as it is freed.", NULL)
SENTENCE(trim_to_see, "memory outside of contexts, and malloc can be told to give back, but does not tell what it has",
		 "To see how much of it is free: SELECT pg_leakhunt_trim({pid}), several times. It gives free memory back, and returns how much.", NULL)
SENTENCE(value_of_client, "one value of the statement's text",
		 "A single value or text of the statement has about {bytes}, and is copied when the statement is parsed and run. Pass it as a parameter instead of a literal, which saves copies. Better, send it in parts: as several rows, or as a large object (lo_put).", NULL)
SENTENCE(value_made, "one value that a function makes",
		 "A single value has about {bytes}, and work_mem does not limit values. See by the call sites which function or aggregate builds it. Let the client read it in parts: as several rows, or with substring() of a column.", NULL)
SENTENCE(row_of_copy, "one row of COPY's input",
		 "One row of COPY's input has about {bytes}. If no row should be that long, look for a quote that is not closed, a wrong delimiter, or a wrong format.", NULL)
SENTENCE(help_parsing, "a long statement",
		 "Make the statement's text shorter: pass large values and long lists as parameters (= ANY ($1)), or split it into several statements.", NULL)
SENTENCE(help_messages, "many statements in one message",
		 "Send these statements in smaller pieces: the parser keeps the trees of all statements of one message until the last of them has run.", NULL)
SENTENCE(help_values, "a long list of rows",
		 "Insert fewer rows with each statement, or load them with COPY. Each value of a VALUES list takes some hundred bytes while it is parsed and planned.", NULL)
SENTENCE(help_rewriting, "views and rules",
		 "Let the statement use fewer views and rules, or views that are nested less deeply.", NULL)
SENTENCE(help_planning, "planning",
		 "Let the statement use fewer tables, partitions, indexes and conditions.", NULL)
SENTENCE(help_joins, "planning of joins",
		 "Lower join_collapse_limit, which is {count}, and from_collapse_limit, which is {least}, for this statement.", NULL)
SENTENCE(geqo_on, "the same, and the genetic optimizer is off",
		 "Or let the genetic optimizer plan it: SET geqo = on, and geqo_threshold to no more than the number of its tables.", NULL)
SENTENCE(geqo_threshold_lower, "the same, and the genetic optimizer is on, but plans larger statements only",
		 "Or let the genetic optimizer plan it: lower geqo_threshold, which is {count}, to the number of its tables.", NULL)
SENTENCE(help_partitions, "planning of partitions",
		 "Let a condition on the partition key leave out partitions, or have fewer of them.", NULL)
SENTENCE(partitionwise_joins_off, "samples show that partitions are joined one by one",
		 "The planner joins the tables' partitions one by one, as enable_partitionwise_join is on. If this does not make the statement faster, SET enable_partitionwise_join = off (the default).", NULL)
SENTENCE(partitionwise_aggregates_off, "the same of aggregates, and the session has that on",
		 "The planner may aggregate each partition by itself, as enable_partitionwise_aggregate is on. If this does not make the statement faster, SET enable_partitionwise_aggregate = off (the default).", NULL)
SENTENCE(explain_memory, "any planning, where the server can (from 17 on)",
		 "EXPLAIN (MEMORY) tells what planning takes.", NULL)
SENTENCE(help_starting, "the start of a plan",
		 "Let the plan have fewer nodes and partitions: a condition on the partition key leaves out the others.", NULL)
SENTENCE(help_copy_reading, "reading of COPY's input",
		 "See whether rows of the input are very long. A quote that is not closed, or a wrong delimiter, makes one row of many lines.", NULL)
SENTENCE(help_index_build, "an index build, whose code is not an extension's",
		 "See which functions the index calls: those of its operator class, and those of its expressions. What they do not free stays until the build ends.", NULL)
SENTENCE(help_jit, "compiling of a plan",
		 "SET jit = off for this statement, or raise jit_above_cost.", NULL)
SENTENCE(file_buffers, "buffers of a hash join's batches",
		 "These are buffers of temporary files, two for each batch of a hash join. {help}", NULL)
SENTENCE(node_misjudged, "a node that holds more than it may",
		 "EXPLAIN the statement: a hash table got far more rows than the planner expected, or very many rows have the same key. Update statistics with ANALYZE, or rewrite the statement. Where very many rows have the same key, SET enable_hashjoin = off for it.", NULL)
SENTENCE(nodes_full, "many nodes that are within their limit",
		 "Lower work_mem or hash_mem_multiplier for this statement, or change its plan so that it has fewer hash tables and sorts.", NULL)
SENTENCE(nodes_many, "very many nodes that hold little each",
		 "Let the plan have fewer hash tables and sorts: read fewer partitions, or SET enable_partitionwise_join = off (the default). A lower work_mem helps only if it allows less than {each}, which each of them holds on average.", NULL)
SENTENCE(library_allocates, "a statement in which an extension allocates",
		 "The largest part of it was allocated by functions of {library}, or by functions that these called. See which of them the statement uses.", NULL)
SENTENCE(library_unlimited, "the same",
		 "work_mem does not limit what extensions keep.", NULL)
SENTENCE(library_in_build, "an index build in which an extension allocates",
		 "The largest part of it was allocated by functions of {library}, which the index build calls for each row or comparison. Report this to its authors: such functions have to free what they allocate.", NULL)
SENTENCE(functions_in_groups, "a statement whose plan has a hash aggregate",
		 "See by the call sites which aggregate or function builds large values, and let it build smaller ones.", NULL)
SENTENCE(groups_hold, "the same",
		 "The plan has a hash aggregate, which keeps as many groups as work_mem allows, however large their states grow. A lower work_mem for this statement, or SET enable_hashagg = off, lets it keep fewer at a time.", NULL)
SENTENCE(language_holds, "a statement in which a procedural language allocates",
		 "Look in the {language} code that the statement runs for variables that hold large arrays or texts. work_mem does not limit these.", NULL)
SENTENCE(functions_hold, "any other statement of a session",
		 "See by the call sites which function, aggregate or trigger of the statement builds large values, and let it build smaller ones. work_mem does not limit what they keep.", NULL)
SENTENCE(leader_holds, "the same of a parallel worker",
		 "See by the call sites which function or aggregate of the leader's statement builds large values, and let it build smaller ones. work_mem does not limit what they keep.", NULL)
SENTENCE(vacuum_holds, "the same of an autovacuum worker",
		 "See which table it works on in pg_stat_progress_vacuum. autovacuum_work_mem does not limit what functions in index expressions keep.", NULL)
SENTENCE(see_report, "the same of another process",
		 "See by the stack what the {noun} was doing: SELECT * FROM pg_leakhunt_report WHERE pid = {pid}.", NULL)
SENTENCE(plans_generic, "plans of statements, the largest of which is one for any parameters",
		 "Where plans span many partitions, SET plan_cache_mode = force_custom_plan.", NULL)
SENTENCE(plans_of_library, "plans that an extension has prepared",
		 "Functions of {library} have prepared them (SPI_prepare, SPI_keepplan). Report this to its authors: a plan has to be used again, or freed with SPI_freeplan.", NULL)
SENTENCE(plans_of_perl, "plans that PL/Perl has prepared",
		 "{language} functions have prepared them with spi_prepare. Prepare each statement once, and keep its plan in a variable that outlives the call. Or free it with spi_freeplan.", NULL)
SENTENCE(plans_of_language, "plans that another language has prepared",
		 "{language} functions have prepared them. Prepare each statement once, and keep its plan in a variable that outlives the call.", NULL)
SENTENCE(functions_of_triggers, "compiled functions of triggers",
		 "A trigger function is compiled once for each table that it is a trigger of, and stays when that table is dropped. Keep such tables and TRUNCATE them, instead of creating and dropping them.", NULL)
SENTENCE(lower_statistics, "most of a cache is statistics of columns",
		 "Lower large statistics targets (ALTER TABLE ... ALTER COLUMN ... SET STATISTICS, default_statistics_target), and run ANALYZE.", NULL)
SENTENCE(plugin_holds, "what an output plugin keeps",
		 "An output plugin's buffer becomes as large as the largest row or transaction that it sends at once, and stays so. If none is that large, report this to the authors of {library}.", NULL)
SENTENCE(help_decoding_catalogs, "decoding of changes to catalogs",
		 "Let transactions that are decoded create, alter and drop fewer tables, temporary ones included. Such changes count in each transaction that is open beside them, so commit sooner.", NULL)
SENTENCE(help_decoding_value, "decoding of a large value",
		 "Split such large values over several rows, or leave their table out of what is decoded.", NULL)
SENTENCE(help_decoding_changes, "decoding of many changes",
		 "Lower logical_decoding_work_mem, so that changes are written to disk earlier, or let transactions change fewer rows.", NULL)
SENTENCE(known_fault, "a minor release with a known fault",
		 "This minor release of PostgreSQL hands on such invalidations again and again. Release {name} has this fixed.", NULL)
SENTENCE(creator_of_library, "contexts of an unknown name, in which an extension allocates",
		 "Find what creates them and never deletes them. Memory in them was allocated through {library}: report this to its authors.", NULL)
SENTENCE(creator_of_language, "the same of a procedural language",
		 "Find what creates them and never deletes them. Memory in them was allocated while a {language} function was running.", NULL)
SENTENCE(creator_unknown, "the same where nothing more is known",
		 "Search the sources of the extensions that this {noun} uses for \"{context}\": code there creates contexts of that name, and never deletes them.", NULL)
SENTENCE(look_later, "what may be a cache",
		 "Look again later: a leak keeps growing, a cache does not.", NULL)
SENTENCE(loaded_language, "memory outside of contexts, and a language that keeps values",
		 "This {noun} has loaded {language}: see what its functions keep in {store}.", NULL)
SENTENCE(loaded_jit, "the same, and the compiler of queries",
		 "This {noun} has compiled queries (JIT). Turn JIT off with ALTER ROLE ... SET jit = off, or with ALTER SYSTEM SET jit = off and SELECT pg_reload_conf(). See whether new sessions still grow.", NULL)
SENTENCE(loaded_dblink, "the same, and dblink",
		 "This {noun} has loaded dblink, which keeps each result in memory until it was read. Fetch fewer rows at a time: by dblink() instead of dblink_get_result(), or by dblink_fetch() of a cursor.", NULL)
SENTENCE(loaded_postgres_fdw, "the same, and postgres_fdw",
		 "This {noun} has loaded postgres_fdw, which keeps each result in memory until it was read. Fetch fewer rows at a time: lower its fetch_size.", NULL)
SENTENCE(loaded_others, "the same, and other libraries",
		 "See what the {noun} does with the libraries that it has loaded by itself.", NULL)
SENTENCE(others_or_settings, "the same, where settings are malloc's, too (until PostgreSQL 15)",
		 "It may also set large values with SET or set_config, which PostgreSQL keeps by malloc.", NULL)
SENTENCE(linked_to_statement, "nothing loaded, and a statement that runs",
		 "See which functions of the statement use one of these libraries, as those for xml use libxml2.", NULL)
SENTENCE(statement_or_settings, "the same, where settings are malloc's, too",
		 "PostgreSQL keeps large values of set_config by malloc, too.", NULL)
SENTENCE(linked_or_settings, "nothing loaded, where settings are malloc's, too",
		 "See first whether the {noun} sets large values with SET or set_config, which PostgreSQL keeps by malloc. Then see which of these libraries it uses.", NULL)
SENTENCE(linked, "nothing loaded", "See which of these libraries the {noun} uses.", NULL)
SENTENCE(mapped_by_unknown, "mapped memory, and nothing loaded that is known to map",
		 "Look for code that maps memory by itself, such as Python's objects and JIT compilers.", NULL)
SENTENCE(check_malloc, "malloc is not sampled",
		 "pg_leakhunt_check, in another session, runs one statement again and again and tells by how much malloc grows each time.", NULL)
SENTENCE(preload_malloc, "the malloc library is not preloaded",
		 "To see call sites of malloc and their statements, restart the server with pg_leakhunt_malloc.so in LD_PRELOAD.", NULL)
SENTENCE(track_malloc, "it is switched off",
		 "To see call sites of malloc and their statements, turn pg_leakhunt.track_malloc on.", NULL)
PLURAL(more_findings, "there are more than three",
	   "{count} more finding is in pg_leakhunt_suspects.",
	   "{count} more findings are in pg_leakhunt_suspects.", NULL, NULL)
PLURAL(hidden_findings, "patterns hide some",
	   "{count} finding is hidden by pg_leakhunt_suppressions.",
	   "{count} findings are hidden by pg_leakhunt_suppressions.", NULL, NULL)

SENTENCE(names_missing, "a binary lacks names of functions (of a page)",
		 "Function names of {library} are missing; pg_leakhunt_symbols says how to see them.", NULL)

SECTION("No finding: why, and what to do to know more")
SENTENCE(no_verdict, "nothing is suspect", "Verdict: none. {reason}", NULL)
SENTENCE(no_verdict_yet, "something may become a finding", "Verdict: none yet. {reason}", NULL)
SENTENCE(exiting, "it is exiting, and has no profile any more",
		 "It is exiting, and all of its memory is freed with it. If it held much, pg_leakhunt_dumps has a dump of it.", NULL)
SENTENCE(not_loaded, "it has not loaded pg_leakhunt",
		 "It has not loaded pg_leakhunt, so no more is known of it.", NULL)
SENTENCE(load_it, "the same",
		 "Add pg_leakhunt to shared_preload_libraries and restart the server, or run pg_leakhunt_attach {pid} as the server's user.", NULL)
SENTENCE(maybe_loaded, "its maps can't be read",
		 "It is not known whether it has loaded pg_leakhunt.", NULL)
SENTENCE(too_small, "it has no profile yet",
		 "Too little was sampled to judge: less than {bytes} at any time, in fewer than {count} samples.", NULL)
SENTENCE(too_little, "it was never counted",
		 "It has allocated too little to tell.", "It had allocated too little to tell.")
SENTENCE(outside_never_counted, "it is large, and was never counted",
		 "Almost all of its private memory is outside of memory contexts: malloc gave it out, or a library mapped it. It has not counted its memory yet, so it is not known which.", NULL)
SENTENCE(outside_since_count, "it has grown much since its last count, without samples",
		 "Almost all of what it has gained since the last count is outside of memory contexts: malloc gave it out, or a library mapped it. It has not counted its memory since, so it is not known which.", NULL)
SENTENCE(lost_since_count, "it has become smaller than what a finding was about",
		 "It has freed much since it last counted its memory, {age} ago, and has not counted what is left.", NULL)
SENTENCE(see_activity, "the same, where no statement runs",
		 "See in pg_stat_activity what it runs, and which of these libraries that uses.", NULL)
SENTENCE(not_published, "its profile could not be published, and nothing is known",
		 "{reason}", NULL)
SENTENCE(sites_unseen, "its profile could not be published",
		 "{reason} Its call sites cannot be seen.", NULL)
SENTENCE(full_memory, "/dev/shm was full",
		 "/dev/shm was too full for its profile, so its call sites cannot be seen.", NULL)
SENTENCE(full_directory, "the directory of profiles was full",
		 "The file system of pg_leakhunt.profile_directory was too full for its profile, so its call sites cannot be seen.", NULL)
SENTENCE(make_room, "/dev/shm was full",
		 "Make /dev/shm larger, or set pg_leakhunt.profile_directory.", NULL)
SENTENCE(make_directory_larger, "the directory of profiles was full",
		 "Make that file system larger, or let pg_leakhunt.profile_directory be on a larger one.", NULL)
SENTENCE(not_sampled, "sampling is off",
		 "It is not sampled: pg_leakhunt.enabled is off, or pg_leakhunt_stop() was called. The call sites of what it has allocated since its last sample, {age} ago, are not known.", NULL)
SENTENCE(never_sampled, "it was off from the start",
		 "It is not sampled: pg_leakhunt.enabled is off, or pg_leakhunt_stop() was called. No call site of it is known.", NULL)
SENTENCE(start_it, "the same", "SELECT pg_leakhunt_start({pid}), and ask again.", NULL)
SENTENCE(not_all_sampled, "scope is long_lived",
		 "Only memory contexts that live as long as the session are sampled; what a statement holds is not.", NULL)
SENTENCE(start_all, "the same",
		 "SELECT pg_leakhunt_start({pid}, scope => 'all'), and ask again.", NULL)
SENTENCE(missed_frees, "samples of malloc stand for more than malloc says",
		 "Samples of malloc stand for {bytes}, but it had given out {other} outside of memory contexts at that time: some of it was freed unseen, and no call site of malloc is judged.", NULL)
SENTENCE(unseen_of_used, "most of what contexts use was not sampled",
		 "Samples stand for only {bytes} of the {total} that its memory contexts use.",
		 "Samples stood for only {bytes} of the {total} that its memory contexts used.")
SENTENCE(unseen_of_all, "the same, where free space was not counted",
		 "Samples stand for only {bytes} of the {total} that its memory contexts have.",
		 "Samples stood for only {bytes} of the {total} that its memory contexts had.")
SENTENCE(unseen_before, "it is older than the first sample",
		 "It had allocated {bytes} before sampling began.", NULL)
SENTENCE(unseen_free, "it may be free space",
		 "How much of its {count} contexts is free was not counted: many small contexts are mostly free space.",
		 "How much of its {count} contexts was free had not been counted: many small contexts are mostly free space.")
SENTENCE(unseen_pause, "sampling was off meanwhile",
		 "The rest was allocated while it was not sampled.", NULL)
SENTENCE(take_baseline, "the same",
		 "SELECT pg_leakhunt_baseline({pid}), and ask again when it has grown.", NULL)
SENTENCE(nodes_within, "a statement holds much, within its limits",
		 "The running statement's {title} hold {bytes}, no more than its settings allow.",
		 "The last statement's {title} held {bytes}, no more than the settings allow.")
SENTENCE(nodes_about, "the same, and little beyond them",
		 "The running statement's {title} hold {bytes}, at most twice what its settings allow.",
		 "The last statement's {title} held {bytes}, at most twice what the settings allow.")
SENTENCE(site_within, "the same, at a call site",
		 "The most that the running {noun} holds at one site is {bytes} at {site} in {context}.",
		 "The most that the last {noun} held at one site was {bytes} at {site} in {context}.")
SENTENCE(outside_rests, "malloc has given out much, and that rests",
		 "malloc has given out {bytes} outside of memory contexts, and that has hardly changed for {age}.",
		 "malloc had given out {bytes} outside of memory contexts, and that had hardly changed for {age}.")
SENTENCE(outside_lately, "the same, but not for long",
		 "malloc has given out {bytes} outside of memory contexts, but that has not grown for long enough to tell a leak.",
		 "malloc had given out {bytes} outside of memory contexts, but that had not grown for long enough to tell a leak.")
SENTENCE(outside_largest, "malloc is sampled",
		 "The largest part of it that was sampled is {bytes} at {site} in {context}.",
		 "The largest part of it that was sampled was {bytes} at {site} in {context}.")
SENTENCE(outside_mapped, "malloc and others have much together",
		 "{bytes} belongs neither to memory contexts nor to malloc: libraries have mapped it. malloc has given out another {outside} outside of memory contexts.",
		 "{bytes} belonged neither to memory contexts nor to malloc: libraries had mapped it. malloc had given out another {outside} outside of memory contexts.")
SENTENCE(outside_untold, "malloc does not tell what it has",
		 "{bytes} is outside of memory contexts. Libraries may use it, or malloc may keep it from contexts, which once had {total}.",
		 "{bytes} was outside of memory contexts. Libraries may have used it, or malloc may have kept it from contexts, which once had {total}.")
SENTENCE(see_history, "malloc has given out much",
		 "SELECT * FROM pg_leakhunt_history({pid}) shows when it grew.", NULL)
SENTENCE(ask_later, "and it has not rested yet", "Ask again later.", NULL)
SENTENCE(growth_unknown, "it grows",
		 "It has grown, but not for long enough to tell why.",
		 "It had grown, but not for long enough to tell why.")
SENTENCE(growth_soon, "the same, and it is known what grows",
		 "It has grown, but not for long enough to tell whether that stops by itself.",
		 "It had grown, but not for long enough to tell whether that would stop by itself.")
SENTENCE(growth_of_code, "these are plans or functions, of less than 48 MB",
		 "It has grown, but {title} are judged only from {limit} on, as large applications have many.",
		 "It had grown, but {title} are judged only from {limit} on, as large applications have many.")
PLURAL(growth_by_kind, "what grows is contexts of a kind that is known",
	   "Most of its growth went to {title}: {count} context held {bytes} at the last count. {what} {bound}",
	   "Most of its growth went to {title}: {count} contexts held {bytes} at the last count. {what} {bound}",
	   "Most of its growth had gone to {title}: {count} context held {bytes} at the last count. {what} {bound}",
	   "Most of its growth had gone to {title}: {count} contexts held {bytes} at the last count. {what} {bound}")
PLURAL(growth_by_contexts, "the same of others",
	   "Most of its growth went to {title}: {count} context held {bytes} at the last count.",
	   "Most of its growth went to {title}: {count} contexts held {bytes} at the last count.",
	   "Most of its growth had gone to {title}: {count} context held {bytes} at the last count.",
	   "Most of its growth had gone to {title}: {count} contexts held {bytes} at the last count.")
SENTENCE(growth_pauses, "it grew a moment ago",
		 "It has not grown for {age}, which is too short to tell whether it will grow again.",
		 "It had stopped growing {age} before the last count, which is too short to tell why it had grown.")
SENTENCE(growth_freed, "what grew is freed",
		 "Most of its growth was freed: malloc keeps {bytes}, to use it again.",
		 "Most of its growth had been freed: malloc kept {bytes}, to use it again.")
SENTENCE(growth_cached, "what grew is a cache",
		 "Most of its growth is a cache that fills up.",
		 "Most of its growth was a cache that filled up.")
SENTENCE(counted_shortly, "it was counted for the first time a moment ago",
		 "It has counted its memory for {age} only, which is too short to tell whether it grows.", NULL)
SENTENCE(growth_small, "it grows a little",
		 "It grows too little to matter, and no running statement is beyond its limits.",
		 "It grew too little to matter, and no statement was beyond its limits.")
SENTENCE(nothing_grows, "it rests",
		 "Nothing keeps growing, and no running statement is beyond its limits.",
		 "Nothing kept growing, and no statement was beyond its limits.")
SENTENCE(stays_in_cache, "most of what stays is a cache",
		 "Most of what stays, {bytes}, is {title}. {what} {bound}",
		 "Most of what stayed, {bytes}, was {title}. {what} {bound}")
SENTENCE(stays_in_contexts, "many contexts, whose number rests",
		 "Most of what stays is {bytes} in {count} contexts: {title}. Their number does not grow now.",
		 "Most of what stayed was {bytes} in {count} contexts: {title}. Their number did not grow then.")
SENTENCE(stays_in_growing, "many contexts, whose number grows",
		 "Most of what stays is {bytes} in {count} contexts: {title}. Their number has not grown for long enough to tell a leak.",
		 "Most of what stayed was {bytes} in {count} contexts: {title}. Their number had not grown for long enough to tell a leak.")
SENTENCE(stays_largest_cache, "a cache has the largest part",
		 "The largest part of what stays, {bytes}, is {title}. {what} {bound}",
		 "The largest part of what stayed, {bytes}, was {title}. {what} {bound}")
SENTENCE(stays_largest_kind, "other contexts have the largest part",
		 "The largest part of what stays is {list}.", "The largest part of what stayed was {list}.")
SENTENCE(stays_uncertain, "a call site has it, by few samples",
		 "The largest part of what stays is {bytes} at {site} in {context}. This is too uncertain for a verdict ({interval}).",
		 "The largest part of what stayed was {bytes} at {site} in {context}. This is too uncertain for a verdict ({interval}).")
PLURAL(stays_few, "the same, in few transactions",
	   "The largest part of what stays is {bytes} at {site} in {context}. It was allocated in only {count} transaction; a verdict needs at least {least} (a long transaction counts once per second).",
	   "The largest part of what stays is {bytes} at {site} in {context}. It was allocated in only {count} transactions; a verdict needs at least {least} (a long transaction counts once per second).",
	   "The largest part of what stayed was {bytes} at {site} in {context}. It was allocated in only {count} transaction; a verdict needs at least {least} (a long transaction counts once per second).",
	   "The largest part of what stayed was {bytes} at {site} in {context}. It was allocated in only {count} transactions; a verdict needs at least {least} (a long transaction counts once per second).")
SENTENCE(stays_slower, "the same, ever more slowly",
		 "The largest part of what stays is {bytes} at {site} in {context}. It grew at {percent}% of the rate before, as a cache does that fills up.",
		 "The largest part of what stayed was {bytes} at {site} in {context}. It had grown at {percent}% of the rate before, as a cache does that fills up.")
SENTENCE(stays_untold, "the same, for another reason",
		 "The largest part of what stays is {bytes} at {site} in {context}. Its growth so far does not tell a leak from a cache.",
		 "The largest part of what stayed was {bytes} at {site} in {context}. Its growth so far does not tell a leak from a cache.")
SENTENCE(ask_in, "it grows", "Ask again in {count} s.", NULL)
SENTENCE(mostly_outside, "most of it is outside of contexts",
		 "Most of its memory is outside of memory contexts.", NULL)
SENTENCE(sample_finer, "finer samples would help",
		 "Finer samples help to tell the call site: SELECT pg_leakhunt_start({pid}, '{interval}', duration => '10 minutes').", NULL)

SECTION("The server")
PLURAL(server, "the reader sees all processes",
	   "{count} process of this server has {bytes} of private memory in all.",
	   "{count} processes of this server have {bytes} of private memory in all.", NULL, NULL)
PLURAL(server_visible, "the reader sees some",
	   "{count} process of this server that you may see has {bytes} of private memory in all.",
	   "{count} processes of this server that you may see have {bytes} of private memory in all.", NULL, NULL)
PLURAL(server_crashed, "profiles of processes are there that a crash has left",
	   "{count} process that has crashed is told of, too.",
	   "{count} processes that have crashed are told of, too.", NULL, NULL)
SENTENCE(forecast, "memory runs out, and the reader sees all processes",
		 "At this rate the kernel kills a process in about {span} ({early} to {late}).", NULL)
SENTENCE(forecast_of_group, "a control group has the limit",
		 "{bytes} is left of the {limit} that its control group may have; {rate} of that is taken each second.", NULL)
SENTENCE(forecast_of_machine, "the machine has it",
		 "{bytes} is left of the {limit} that the machine has; {rate} of that is taken each second.", NULL)
SENTENCE(forecast_process, "a process of the server grows",
		 "Process {pid} is {percent}% of the growth.", NULL)
SENTENCE(forecast_several, "several grow about as much",
		 "{count} processes together are {percent}% of the growth; process {pid} has grown most.", NULL)
SENTENCE(forecast_freed, "that process has private memory",
		 "Ending process {pid} gives {freed} back.", NULL)
SENTENCE(forecast_others, "most of the growth is not theirs",
		 "Private memory of this server's processes is only {percent}% of the growth.", NULL)
SENTENCE(forecast_shared, "a fifth of the growth is shared memory, or more",
		 "{percent}% of the growth is shared memory, which includes files in /dev/shm.", NULL)
SENTENCE(forecast_waiting, "processes wait for memory",
		 "Processes already wait for memory {percent}% of the time.", NULL)
SENTENCE(memory_of_group, "a control group counts the server's memory, and the reader sees all processes",
		 "The server's control group uses {bytes}: {list}.", NULL)
SENTENCE(memory_of_machine, "none does",
		 "No control group counts this server's memory. The machine uses {bytes} of its {limit}: {list}.", NULL)
PHRASE(memory_private, "in such a list", "{bytes} of private memory", NULL)
PHRASE(memory_shared, "in such a list", "{bytes} of shared memory", NULL)
PHRASE(memory_files, "in such a list", "{bytes} of page cache", NULL)
PHRASE(memory_kernel, "in such a list", "{bytes} for the kernel, such as page tables", NULL)
PHRASE(memory_huge, "in such a list", "{bytes} of huge pages", NULL)
PHRASE(memory_rest, "in such a list", "{bytes} that the kernel does not tell apart", NULL)
SENTENCE(memory_changed, "that changes quickly",
		 "It changed by {bytes} while this was read.", NULL)
SENTENCE(memory_limit, "the group has a limit",
		 "Its limit is {limit}. At that the kernel drops page cache first, and then kills processes.", NULL)
SENTENCE(memory_slow, "the group has a memory.high",
		 "Beyond {limit} (memory.high) the kernel slows its processes down.", NULL)
SENTENCE(memory_outer_limit, "a group around it has a limit",
		 "A control group that contains it has a limit of {limit}.", NULL)
SENTENCE(memory_unlimited, "no group has one", "No control group limits it.", NULL)
SENTENCE(memory_others, "there are other processes in the group",
		 "At least {bytes} of that private memory belongs to processes that are not this server's.", NULL)
PLURAL(memory_kind, "processes of one type have a fiftieth of what is used, or more",
	   "Of the private memory, {count} process of type {name} has {bytes}.",
	   "Of the private memory, {count} processes of type {name} have {bytes}.", NULL, NULL)
PLURAL(memory_kind_contents, "the same, and it is known what for",
	   "Of the private memory, {count} process of type {name} has {bytes}: {list}.",
	   "Of the private memory, {count} processes of type {name} have {bytes}: {list}.", NULL, NULL)
PHRASE(memory_content, "in such a list", "{bytes} ({title})", NULL)
SENTENCE(memory_shared_kinds, "what the server shares",
		 "Shared memory of the server: {list}.", NULL)
PHRASE(shared_buffers, "in such a list", "{bytes} of the {total} that shared_buffers allows", NULL)
PHRASE(shared_main, "in such a list", "{bytes} for the rest of the main segment", NULL)
PHRASE(shared_dynamic, "in such a list", "{bytes} in dynamic segments, such as those of parallel queries and statistics", NULL)
PHRASE(shared_profiles, "in such a list", "{bytes} for profiles of pg_leakhunt", NULL)
SENTENCE(shared_huge, "the main segment is in huge pages",
		 "The main segment is in huge pages.", NULL)
SENTENCE(shared_huge_uncounted, "the same, and the group does not count them",
		 "The main segment is in huge pages, which the control group does not count.", NULL)
SENTENCE(shared_others, "the group has more shared memory",
		 "Another {bytes} of shared memory in that control group is none of these.", NULL)
SENTENCE(shared_room, "half of /dev/shm is used, or more",
		 "/dev/shm has room for {total}, and {bytes} of that is used.", NULL)
SENTENCE(page_tables, "page tables take 32 MB",
		 "Page tables of its processes take {bytes}.", NULL)
SENTENCE(page_tables_shared, "most of them are for shared memory in small pages",
		 "Most of that is for shared memory, such as buffers: each process that reads it has page tables of its own.", NULL)
SENTENCE(huge_pages, "the same, and it is known how many huge pages there would be",
		 "Huge pages need next to none: set vm.nr_hugepages to {count} or more and huge_pages to on, and restart the server.", NULL)
SENTENCE(swapped, "processes are in swap",
		 "{bytes} of its processes' memory is in swap.", NULL)
SENTENCE(server_no_finding, "nothing is suspect", "There is no finding.", NULL)
PLURAL(server_too_little, "nothing is known",
	   "There is no finding, as too little is known of it.",
	   "There is no finding, as too little is known of any of them.", NULL, NULL)
PLURAL(server_verdict, "each of the three largest causes",
	   "Verdict: {verdict} {cause}. In {count} process, that is {bytes}.",
	   "Verdict: {verdict} {cause}. In {count} processes, that is {bytes}.", NULL, NULL)
PLURAL(server_more, "there are more",
	   "{count} more cause is in pg_leakhunt_suspects.",
	   "{count} more causes are in pg_leakhunt_suspects.", NULL, NULL)
PLURAL(server_uncounted, "processes without a profile that are large",
	   "{count} process has not counted memory that is mostly outside of memory contexts; {bytes} of private memory in all.",
	   "{count} processes have not counted memory that is mostly outside of memory contexts; {bytes} of private memory in all.", NULL, NULL)
PLURAL(server_small, "processes without a profile that are small",
	   "{count} process has allocated too little to tell; {bytes} of private memory in all.",
	   "{count} processes have allocated too little to tell; {bytes} of private memory in all.", NULL, NULL)
PLURAL(server_unloaded, "processes without pg_leakhunt",
	   "{count} process has no profile, and may not have loaded pg_leakhunt; {bytes} of private memory in all.",
	   "{count} processes have no profile, and may not have loaded pg_leakhunt; {bytes} of private memory in all.", NULL, NULL)
PHRASE(type_of_application, "in the next two", "{title}, application {name}", NULL)
SENTENCE(alike, "four or more processes of one type are alike, without a finding",
		 "{count} processes of type {name} are alike: they have {each} each on average, the largest {most}, and no finding. Only the largest is listed.", NULL)
SENTENCE(alike_suspect, "the same, with one",
		 "{count} processes of type {name} are alike: they have {each} each on average, the largest {most}, and the verdict {verdict} {cause}. Only the largest is listed.", NULL)

SECTION("The overview: the view pg_leakhunt")
PHRASE(overview_by_routine, "a routine allocates it", "{what}, by {routines}", NULL)
PHRASE(overview_of_query, "a statement holds it, whose text is known", "{what}: {query}", NULL)
PHRASE(overview_libraries, "libraries of the session may have it",
	   "{what}; its libraries that call malloc: {list}", NULL)
PHRASE(overview_who, "one process has that cause", "{who}", "crashed: {who}")
PHRASE(overview_who_several, "several have", "{count} processes like {who}",
	   "{count} crashed processes like {who}")
SENTENCE(overview_nothing, "nothing is suspect", "There is no finding.", NULL)
SENTENCE(overview_visible, "the same, and the reader sees some processes",
		 "Processes that you may not see are left out.", NULL)
PLURAL(overview_judged, "the same: how many processes have been judged",
	   "{count} process was judged.", "{count} processes were judged.", NULL, NULL)
PLURAL(overview_unjudged, "and how many have not, such as small ones",
	   "{count} has no verdict yet.", "{count} have no verdict yet.", NULL, NULL)
SENTENCE(overview_explain, "the same",
		 "SELECT * FROM pg_leakhunt_explain() says why, and what each process holds.", NULL)

SECTION("How many connections the host bears")
PLURAL(bears, "enough sessions of a kind were seen",
	   "This host bears {count} connection of this kind ({low} to {high}).",
	   "This host bears {count} connections of this kind ({low} to {high}).", NULL, NULL)
PLURAL(bears_all, "the same, of all kinds together",
	   "This host bears {count} connection like those that were seen ({low} to {high}).",
	   "This host bears {count} connections like those that were seen, in the same proportions ({low} to {high}).", NULL, NULL)
SENTENCE(bears_any, "the same, and memory does not limit them",
		 "Memory does not limit connections of this kind.", NULL)
SENTENCE(bears_room, "of all kinds, always",
		 "Of {limit} of memory, sessions may have {bytes} in all. The rest is for shared memory at its full size, and for whatever other processes have now.", NULL)
SENTENCE(bears_no_room, "how much memory there is, is not known",
		 "The kernel does not tell how much memory there is.", NULL)
SENTENCE(bears_unseen, "there was no look yet",
		 "No session was looked at yet. The keeper does that: pg_leakhunt has to be in shared_preload_libraries.", NULL)
SENTENCE(bears_unknown, "too little was seen",
		 "Not known yet: it takes {least} looks, and 3 sessions of the same age. So far there were {count}, and {workers} in all.", NULL)
SENTENCE(session_grows, "what a session grows to",
		 "A session grows to {bytes} within {age}{list}.", NULL)
SENTENCE(session_grows_on, "the same, and it was still growing",
		 "A session has {bytes} at an age of {age}{list}. It was still growing: no such session has been seen that is older.", NULL)
SENTENCE(session_grows_all, "the same, of all kinds", "A session grows to {bytes} on average.", NULL)
PHRASE(session_parts, "of what, where that was counted", ", of which {list}", NULL)
PHRASE(session_catalogs, "in such a list", "{bytes} for catalog caches", NULL)
PHRASE(session_plans, "in such a list", "{bytes} for plans and functions", NULL)
PHRASE(session_contexts, "in such a list", "{bytes} in other memory contexts", NULL)
PHRASE(session_malloc, "in such a list", "{bytes} from malloc outside of them", NULL)
PHRASE(session_freed, "in such a list", "{bytes} of freed memory that malloc keeps", NULL)
PHRASE(session_beside, "in such a list", "{bytes} for page tables, swap and its profile", NULL)
PLURAL(together, "statements took memory at a look",
	   "At {since}, {count} of {workers} ran a statement or had a transaction open. That took another {bytes}, the most at any look.",
	   "At {since}, {count} of {workers} ran statements or had transactions open. These took another {bytes} at that moment, the most at any look.", NULL, NULL)
SENTENCE(together_bears, "the same, and for how many connections there is room",
		 "With as many connections as the host bears, statements may take {bytes} together.", NULL)
SENTENCE(together_missed, "statements of the role, or any, have taken more than any look has seen",
		 "pg_leakhunt_statements has seen one statement take {bytes}. No look has met that peak, so leave room for it.", NULL)
SENTENCE(recycling, "a max lifetime would save memory",
		 "A max lifetime of {age} would save {bytes} of what these sessions have now.", NULL)
SENTENCE(recycling_nothing, "it would not",
		 "A max lifetime of {age} would save nothing.", NULL)
SENTENCE(allowed_connections, "of all kinds, always",
		 "max_connections allows {count}.", NULL)
SENTENCE(looked_for, "of all kinds, always", "This is from {count} looks in {age}, since {since}.", NULL)
SENTENCE(kinds_forgotten, "there were too many kinds",
		 "There were more kinds of sessions than are remembered: {count} had to go.", NULL)

SECTION("The server's log")
PHRASE(log_leak, "a leak", "process {pid} leaks memory: {bytes} {cause}", NULL)
PHRASE(log_lost, "memory to which nothing points", "process {pid} has lost memory: {bytes} {cause}", NULL)
PHRASE(log_held, "what was left", "process {pid} keeps memory after its transactions: {bytes} {cause}", NULL)
PHRASE(log_contexts, "contexts that become more, or are many", "process {pid} holds many memory contexts: {bytes} {cause}", NULL)
PHRASE(log_one_context, "one context of a kind that is known", "process {pid} keeps much memory: {bytes} {cause}", NULL)
PHRASE(log_decoding, "decoding", "process {pid} holds much memory to decode transactions: {bytes} {cause}", NULL)
PHRASE(log_statement, "a statement", "process {pid} runs a statement or transaction that holds much memory: {bytes}", NULL)
PHRASE(log_statement_at, "a statement, and where", "process {pid} runs a statement or transaction that holds much memory: {bytes}, the largest part {cause}", NULL)
PHRASE(log_waiting, "open cursors, or an idle transaction", "process {pid} holds much memory for {cause}: {bytes}", NULL)
PHRASE(log_forecast, "memory runs out", "at this rate the kernel kills a process in about {span} ({early} to {late})", NULL)
PHRASE(log_forecast_process, "the same, and a process of the server grows", "at this rate the kernel kills a process in about {span} ({early} to {late}): process {pid} is {percent}% of the growth", NULL)
PHRASE(log_forecast_several, "the same, and several grow about as much", "at this rate the kernel kills a process in about {span} ({early} to {late}): {count} processes together are {percent}% of the growth", NULL)
PHRASE(log_statement_shared, "the same, where one function leads to most of it", "process {pid} runs a statement or transaction that holds much memory: {bytes}, {percent}% of it allocated in {name} and the functions that it calls", NULL)
PHRASE(log_malloc, "malloc", "process {pid} holds memory from malloc: {bytes} outside of memory contexts", NULL)
PHRASE(log_mapped, "mapped memory", "process {pid} maps more and more memory: {bytes}", NULL)
PHRASE(log_outside, "memory outside of contexts, where malloc does not tell what it has",
	   "process {pid} holds memory outside of memory contexts: at least {bytes}", NULL)
PHRASE(log_freed, "what malloc keeps", "process {pid} keeps memory that was freed: {bytes}", NULL)
PHRASE(log_growing, "what grows, which is not logged: it may be a cache", "process {pid} grows: {bytes} {cause}", NULL)
PHRASE(log_place, "contexts of one kind, in these lines", "for {title}", NULL)

SECTION("A text: statistics of memory contexts")
SENTENCE(stats_number, "a text has several of them", "Statistics {name} of {total}.", NULL)
PLURAL(stats_statistics, "each of them",
	   "Process {pid} had {bytes} in {count} memory context.",
	   "Process {pid} had {bytes} in {count} memory contexts.", NULL, NULL)
PLURAL(stats_statistics_of_one, "the same, without the id of the process",
	   "A process whose id is not told had {bytes} in {count} memory context.",
	   "A process whose id is not told had {bytes} in {count} memory contexts.", NULL, NULL)
SENTENCE(stats_free, "there is free space inside contexts", "{freed} of that was free space inside them.", NULL)
SENTENCE(stats_cut, "their begin or their end is not there",
		 "The statistics are not whole. All figures are of the lines that are there.", NULL)
SENTENCE(stats_missing, "the lines add up to less than the grand total",
		 "The lines add up to {bytes}, which is {rest} less than the grand total, {total}: lines are missing.", NULL)
SENTENCE(stats_failed, "the process wrote them when it ran out of memory",
		 "The process then asked for another {bytes}, and got nothing.", NULL)
SENTENCE(stats_failed_in, "the same, and the context is known",
		 "The process then asked for another {bytes} in {context}, and got nothing.", NULL)
SENTENCE(stats_rest_like, "the server has not listed all children of a context, and most that it lists are of one kind",
		 "{bytes} of it is in {total} contexts below {name} that the server did not list one by one. {early_count} of the {least} that it lists there are for {title}, so the others are counted as that, too.", NULL)
SENTENCE(stats_rest_like_named, "the same, of a name that is not known",
		 "{bytes} of it is in {total} contexts below {name} that the server did not list one by one. {early_count} of the {least} that it lists there are named \"{title}\", so the others are counted as that, too.", NULL)
PLURAL(stats_rest, "the same, and what it lists differs",
	   "{bytes} is in {count} context below {name} that the server did not list by itself. What it is for is not known.",
	   "{bytes} is in {count} contexts below {name} that the server did not list one by one. What they are for is not known.", NULL, NULL)
SENTENCE(stats_rest_count, "behind these",
		 "Until PostgreSQL 16, such a number leaves out the contexts below them; their bytes are in the sum.", NULL)
PHRASE(stats_rest_parent, "in these, where the context above them is not known", "one context", NULL)
PLURAL(stats_contexts, "a kind of contexts has a large part",
	   "{percent}% of it, {bytes}, was in {count} context for {title}.",
	   "{percent}% of it, {bytes}, was in {count} contexts for {title}.", NULL, NULL)
PLURAL(stats_contexts_named, "the same, of a name that is not known",
	   "{percent}% of it, {bytes}, was in {count} context named \"{context}\".",
	   "{percent}% of it, {bytes}, was in {count} contexts named \"{context}\".", NULL, NULL)
SENTENCE(stats_largest, "one of them has most of that", "The largest of them, {context}, had {most}.", NULL)
SENTENCE(stats_only, "there is one", "Its name is {context}.", NULL)
SENTENCE(stats_top, "that is TopMemoryContext",
		 "Code puts there what lives as long as the process. Names of contexts do not tell which code that was.", NULL)
SENTENCE(stats_transaction, "that is TopTransactionContext",
		 "Code puts there what lives as long as the transaction. Names of contexts do not tell which code that was.", NULL)
PHRASE(stats_noun_process, "whoever has them", "process", NULL)
SENTENCE(stats_help_top, "what to do about either",
		 "Sample such a session with pg_leakhunt: its call sites tell which code allocated this.", NULL)
SENTENCE(stats_small, "it is less than 32 MB",
		 "That is not much: many sessions have as much.", NULL)
SENTENCE(stats_small_whole, "the same, and no line is missing",
		 "If the process was much larger, the rest was outside of memory contexts.", NULL)
SENTENCE(stats_small_cut, "the same, and lines are missing",
		 "If the process was much larger, the rest was in lines that are missing, or outside of memory contexts.", NULL)
SENTENCE(stats_outside, "behind the last of them",
		 "Memory outside of contexts is not in these statistics: what libraries got from malloc, what malloc keeps after it was freed, and shared memory.", NULL)
SENTENCE(stats_once, "there are no others of the process",
		 "Not decided: whether it grows. Write its statistics again some minutes later, and give both to this reader: SELECT pg_log_backend_memory_contexts({pid}), from PostgreSQL 14 on.", NULL)
SENTENCE(stats_once_of_one, "the same, without its id",
		 "Not decided: whether it grows. Write its statistics again some minutes later, and give both to this reader: SELECT pg_log_backend_memory_contexts(pid), from PostgreSQL 14 on.", NULL)
SENTENCE(stats_once_looked_at, "of a process that was looked at",
		 "Not decided: whether it grows. Look at it again some minutes later, and compare.", NULL)
SENTENCE(stats_grown, "a process has several",
		 "Process {pid} grew by {growth} from statistics {early} to statistics {late}: {list}.", NULL)
SENTENCE(stats_grown_of_one, "it is not known whether two are of one process",
		 "If statistics {early} and {late} are of one process, it grew by {growth} between them: {list}.", NULL)
SENTENCE(stats_grown_most, "what has grown most is a kind that is known", "{what} {bound}", NULL)
SENTENCE(stats_not_grown, "it is no larger in the last of them",
		 "Process {pid} did not grow from statistics {early} to statistics {late}.", NULL)
SENTENCE(stats_not_grown_of_one, "the same, where it is not known whether they are of one process",
		 "If statistics {early} and {late} are of one process, it did not grow between them.", NULL)
PHRASE(stats_growth, "in a list of what has grown", "{growth} for {title}", NULL)
PHRASE(stats_growth_named, "the same, of a name that is not known", "{growth} in {title}", NULL)
PHRASE(stats_growth_rest, "the same, of all others", "{growth} in others", NULL)
PLURAL(stats_left_out, "a text has more than are kept",
	   "The text has {count} more, which is left out here.",
	   "The text has {count} more, which are left out here.", NULL, NULL)
SENTENCE(stats_nothing, "a text has nothing of this",
		 "The text has no statistics of memory contexts, and no message about memory that this reader knows. It reads the server's log, in English (lc_messages = C), the kernel's, and rows of pg_backend_memory_contexts.", NULL)
SENTENCE(stats_with_sites, "at the end",
		 "With pg_leakhunt loaded, such a process is told with the functions and statements that allocated this, and since when it grows.", NULL)

SECTION("A process that is looked at from outside")
PLURAL(look_all_held, "nothing is lost",
	   "The only chunk in its memory contexts, with {total}, can be reached: nothing is lost.",
	   "All {count} chunks in its memory contexts, {total}, can be reached: nothing is lost.", NULL, NULL)
SENTENCE(look_lost, "something is lost for good",
		 "Nothing points to {bytes} of its memory: no code can use it or free it before the process ends.", NULL)
PLURAL(look_lost_kind, "each of these, and of the next",
	   "{bytes}: {count} chunk in \"{context}\", {what}.",
	   "{bytes}: {count} chunks in \"{context}\", each of {what}.", NULL, NULL)
PLURAL(look_lost_context, "the same, of memory contexts that are lost as a whole",
	   "{bytes}: what else {count} memory context named \"{context}\" has, which nobody has any more.",
	   "{bytes}: what else {count} memory contexts named \"{context}\" have, which nobody has any more.", NULL, NULL)
SENTENCE(look_lost_rest, "there are others, none of which has much", "{bytes}: others.", NULL)
SENTENCE(look_content, "one of them has a text", "One has \"{name}\".", NULL)
SENTENCE(look_loose, "something is lost, but somebody has its context",
		 "Nothing points to {freed} of its memory, but a reset of its memory contexts frees it.", NULL)
SENTENCE(look_holders, "something can be reached", "Of the rest, these hold most.", NULL)
SENTENCE(look_holder, "each of these", "{bytes} is held by {who}.", NULL)
PLURAL(look_closed, "the layout of some contexts does not prove true",
	   "{count} memory context, {bytes}, is not as this release lays it out. All of it counts as held.",
	   "{count} memory contexts, {bytes}, are not as this release lays them out. All of them count as held.", NULL, NULL)
SENTENCE(look_no_layout, "the same of all contexts",
		 "Not decided: what is lost. No memory context is as PostgreSQL {name} lays it out. A server that was built with assertions (--enable-cassert), or that its vendor has changed, has other layouts.", NULL)
SENTENCE(look_private, "the kernel says what it has",
		 "The process has {bytes} of private memory. The kernel keeps {total} of page tables for it. It has touched {outside} of shared memory, which exists once for all processes.", NULL)
SENTENCE(look_swapped, "some of its memory is swapped out", "Another {freed} is swapped out.", NULL)
SENTENCE(look_malloc, "malloc's memory is understood",
		 "Outside of memory contexts, malloc has given out {bytes}.", NULL)
SENTENCE(look_malloc_unknown, "it is not",
		 "Not decided: what malloc has given out outside of memory contexts. Its memory was not understood: the process was in the middle of changing it, or its malloc is not glibc's.", NULL)
SENTENCE(look_malloc_threads, "the process has several threads",
		 "Not decided: what malloc has given out outside of memory contexts. The process has {count} threads, of which each keeps free memory of its own.", NULL)
SENTENCE(look_core, "it is a core file",
		 "All of this is as it was when the core file was written.", NULL)
SENTENCE(look_stopped, "it is a process",
		 "It stood still for {span}, while its memory was copied.", NULL)
SENTENCE(look_torn, "it was not stopped",
		 "It was not stopped while its memory was copied. What it changed meanwhile is torn: what is called lost may have been moved, and contexts may look damaged.", NULL)
SENTENCE(look_unread, "some of its memory could not be read",
		 "{bytes} of its memory could not be read. What only that points to is called lost, though it is not.", NULL)
SENTENCE(look_sampled, "pg_leakhunt is loaded in the process",
		 "pg_leakhunt is loaded there, and notes addresses of chunks. What only these notes point to is not called lost here: ask pg_leakhunt_proof({pid}) in SQL.", NULL)
SENTENCE(look_not_known, "always",
		 "Not known from outside: which code and which statements allocated this, and since when it grows. With pg_leakhunt loaded, such a process is told with these.", NULL)

SECTION("A text: messages about memory")
PLURAL(message_times, "the message came more often", "It came {count} time.", "It came {count} times.", NULL, NULL)
SENTENCE(message_statement, "its statement is known, also with statistics", "Statement: {query}", NULL)
PLURAL(message_left_out, "there are more than are kept",
	   "{count} more message about memory is left out here.",
	   "{count} more messages about memory are left out here.", NULL, NULL)
SENTENCE(invalid_size, "a message",
		 "invalid memory alloc request size {total}: code asked for more at once than PostgreSQL allows, which is 1 GB less one byte. The machine's memory has nothing to do with it.", NULL)
SENTENCE(invalid_size_negative, "the number is nearly 2 to the 64th",
		 "As a number with a sign it is {name}. No value has a negative length: the code has read a damaged row or index, or has a fault.", NULL)
SENTENCE(invalid_size_huge, "it is a terabyte or more",
		 "No value is {bytes} long: the code has read a damaged row or index, or has a fault.", NULL)
SENTENCE(invalid_size_doubled, "it is a power of two",
		 "The number is a power of two: an array or a buffer of {bytes} was full, and was to be doubled.", NULL)
SENTENCE(invalid_size_open, "it is neither",
		 "Not decided: either the statement builds a value or an array of {bytes}, or the code has read the length of a damaged row.", NULL)
SENTENCE(invalid_size_damaged, "what to do about damage",
		 "Run pg_amcheck on the database. Read the table of the statement in ranges of its key, until one row fails by itself; restore that row from a backup. If no row fails, report the fault with the statement.", NULL)
SENTENCE(invalid_size_value, "what to do about a large value",
		 "See what the statement builds: string_agg, array_agg, json_agg, or the text of a bytea, which is twice as long. Make it in several rows, or read the value in parts with substring().", NULL)
SENTENCE(invalid_size_ask, "how to tell them apart",
		 "If the statement fails at the same row whatever else it reads, the row is damaged. If it fails only beyond some number of rows, the value is too large.", NULL)
SENTENCE(string_too_long, "a message",
		 "A text grew beyond 1 GB, which is the most that PostgreSQL allows for one. The machine's memory has nothing to do with it.", NULL)
SENTENCE(string_too_long_help, "what to do",
		 "See which value or row of the statement is that long. As text, a bytea is twice as long; COPY and pg_dump write it so. Read it in parts with substring(), or as a large object (lo_get).", NULL)
SENTENCE(no_memory, "a message without a size",
		 "out of memory: malloc refused to give a process more.", NULL)
SENTENCE(no_memory_size, "the same, with a size",
		 "out of memory: malloc refused to give a process {bytes} more.", NULL)
SENTENCE(no_memory_in, "the same, with a context",
		 "out of memory: malloc refused to give a process {bytes} more in {context}.", NULL)
SENTENCE(no_memory_large, "64 MB or more at once",
		 "That is one value, array or hash table, as large as that.", NULL)
SENTENCE(no_memory_family, "the context is of a kind that is known",
		 "Such contexts are for {title}. {what} {bound}", NULL)
SENTENCE(no_memory_vacuum, "its context is a table that is vacuumed",
		 "It was vacuuming. For the rows that it removes, a vacuum may take autovacuum_work_mem or maintenance_work_mem, and until PostgreSQL 16 it takes that, up to 1 GB, at once.", NULL)
SENTENCE(no_memory_vacuum_help, "the same, and what to do",
		 "Lower autovacuum_work_mem, or where that is -1, maintenance_work_mem. Each of autovacuum_max_workers processes may take as much.", NULL)
SENTENCE(no_memory_last, "always",
		 "Whoever asks last need not be who holds most.", NULL)
SENTENCE(no_memory_see, "the text has statistics of that process",
		 "The statistics above tell what the process held.", NULL)
SENTENCE(no_memory_ask, "it has none",
		 "Not decided: what held the memory. The server writes the statistics of the process in front of this message, but only to its standard error: look into that file, also where the log is csvlog or jsonlog.", NULL)
SENTENCE(no_memory_limits, "what refused",
		 "The kernel refuses memory because of vm.overcommit_memory = 2, a limit of the process (ulimit -v), or a full address space. A control group does not refuse: it kills. On a managed server, the provider may refuse by itself: see its events and its metrics of memory.", NULL)
SENTENCE(no_memory_sum, "what to do",
		 "If vm.overcommit_memory is 2, compare Committed_AS with CommitLimit in /proc/meminfo: all processes of the machine count.", NULL)
SENTENCE(no_dsa, "the same, of dynamic shared memory",
		 "out of memory: there was no room for {bytes} more in dynamic shared memory, which the processes of a parallel query share. malloc was not asked.", NULL)
SENTENCE(no_dsa_help, "the same, and what to do",
		 "Lower work_mem, or SET max_parallel_workers_per_gather = 0 for the statement. See whether /dev/shm is full, too.", NULL)
SENTENCE(shared_table, "a message",
		 "out of shared memory: the table of locks is full. Neither shared_buffers nor the machine's memory has anything to do with it.", NULL)
SENTENCE(shared_table_size, "always",
		 "It has room for max_locks_per_transaction locks for each of max_connections and max_prepared_transactions. All sessions share it, so one transaction may take more than its part.", NULL)
SENTENCE(shared_table_predicates, "it was that of predicate locks",
		 "out of shared memory: the table of predicate locks, of transactions that are SERIALIZABLE, is full. Neither shared_buffers nor the machine's memory has anything to do with it.", NULL)
SENTENCE(shared_table_ask, "which transaction it was",
		 "Not decided: which transaction holds most locks. Ask while it lasts: SELECT pid, count(*) FROM pg_locks GROUP BY pid ORDER BY 2 DESC.", NULL)
SENTENCE(shared_table_help, "what to do",
		 "Let one transaction use fewer tables, partitions and advisory locks: pg_dump, a statement on a table with many partitions, and DROP SCHEMA lock all of them. Or raise max_locks_per_transaction, and restart.", NULL)
SENTENCE(shared_table_predicates_help, "what to do about predicate locks",
		 "Keep SERIALIZABLE transactions short, or raise max_pred_locks_per_transaction, and restart.", NULL)
SENTENCE(segment, "a message",
		 "could not resize shared memory segment: a parallel query, or an extension, asked for a segment of {bytes} in /dev/shm.", NULL)
SENTENCE(segment_full, "the reason was that there is no space",
		 "/dev/shm was too full for it. Containers have 64 MB there unless they are told otherwise.", NULL)
SENTENCE(segment_refused, "the reason was that there is no memory",
		 "The kernel had no memory for it.", NULL)
SENTENCE(segment_size, "always",
		 "A parallel hash join needs work_mem times hash_mem_multiplier there, for each worker and for the leader, and half of that again while its table grows. All statements that run at once share the room.", NULL)
SENTENCE(segment_help, "what to do",
		 "Make /dev/shm as large as all such statements that run at once need: begin with 1 GB. That is docker run --shm-size=1g, or in Kubernetes an emptyDir with medium Memory at /dev/shm. It counts as memory of the container.", NULL)
SENTENCE(segment_or, "the same without a change of the machine",
		 "Or lower work_mem, or SET max_parallel_workers_per_gather = 0 for the statement.", NULL)
SENTENCE(fork, "a message",
		 "could not fork {name}: the kernel made no new process.", NULL)
SENTENCE(fork_memory, "the reason was that there is no memory",
		 "It had no memory for it. With vm.overcommit_memory = 2, a fork counts as much as the postmaster may write to, its private memory. Compare Committed_AS with CommitLimit in /proc/meminfo.", NULL)
SENTENCE(fork_again, "the reason was a limit",
		 "There is a limit on processes, and memory has nothing to do with it: ulimit -u of the server's user, TasksMax of its service, pids.max of its control group, or kernel.pid_max.", NULL)
SENTENCE(fork_open, "the reason is not told",
		 "Not decided: whether memory or a limit on processes was the reason. The end of the message has it.", NULL)
SENTENCE(fork_help, "what to do",
		 "Fewer connections help in both cases: use a pool, and lower max_connections.", NULL)
SENTENCE(signal_9, "a message",
		 "{name} {pid} was ended by signal 9. Nothing in PostgreSQL sends that to a process that works.", NULL)
SENTENCE(signal_9_kernel, "a report of the kernel on this process is in the text",
		 "The kernel did so for want of memory: its report is below.", NULL)
SENTENCE(signal_9_ask, "there is none",
		 "Not decided: mostly the kernel does so for want of memory, but an administrator or a container's runtime can as well.", NULL)
SENTENCE(signal_9_help, "there is no report of the kernel, and what to do",
		 "Ask the kernel: journalctl -k, or dmesg -T | grep -i 'killed process'. In a container, see oom_kill in memory.events. On a managed server, see the provider's events and its metrics of memory.", NULL)
SENTENCE(signal_9_restart, "always",
		 "The server then ends all sessions, and recovers: what others held is gone, too.", NULL)
SENTENCE(signal_9_victim, "always",
		 "The kernel takes whichever process is largest by its count. The statement that it ran need not be to blame.", NULL)
SENTENCE(no_shared, "a message",
		 "The kernel refused the server its shared memory. So it did not start, or not again after a crash.", NULL)
SENTENCE(no_shared_size, "the same, and its size is known",
		 "The kernel refused the server its shared memory, {bytes}. So it did not start, or not again after a crash.", NULL)
SENTENCE(no_shared_why, "always",
		 "The server asks for all of it at once. Most of it is shared_buffers. The kernel refuses where memory and swap space do not suffice for that, or too few huge pages are free with huge_pages = on.", NULL)
SENTENCE(no_shared_help, "what to do",
		 "Lower shared_buffers, or max_connections. postgres -C shared_memory_size says how much it asks for (from PostgreSQL 15 on). Free huge pages are HugePages_Free less HugePages_Rsvd in /proc/meminfo.", NULL)
SENTENCE(unit_killed, "a message of systemd",
		 "The kernel ended a process of the service {name} for want of memory, says systemd.", NULL)
SENTENCE(unit_killed_open, "the same, and it is not said who did it",
		 "A process of the service {name} was ended for want of memory, by the kernel or by systemd-oomd, says systemd.", NULL)
SENTENCE(unit_killed_oomd, "the same, and it was systemd-oomd",
		 "systemd-oomd ended the service {name}, as memory was short. The kernel has no report of that: journalctl -u systemd-oomd.", NULL)
SENTENCE(unit_killed_oomd_help, "the same, and what to do",
		 "With ManagedOOMPreference=avoid in the service, systemd-oomd takes others first. Lower what the server may take, too: work_mem, max_connections, shared_buffers.", NULL)
SENTENCE(unit_killed_ask, "there is no report of the kernel",
		 "Not decided: which process, and who held the memory. If it was the kernel, its report tells both: journalctl -k.", NULL)
SENTENCE(unit_killed_all, "always",
		 "After the kernel has ended one process, systemd stops the whole service, with OOMPolicy=stop, which is its default.", NULL)
SENTENCE(unit_killed_help, "what to do",
		 "See who held the memory: journalctl -k | pg_leakhunt_look --log -. With OOMPolicy=continue in the service, PostgreSQL itself restarts what must be restarted.", NULL)
SENTENCE(container_killed, "Kubernetes says that a container was OOMKilled",
		 "The kernel ended a process of a container for want of memory: the container had reached its limit, or the node was full.", NULL)
SENTENCE(container_killed_help, "the same, and what to do",
		 "See the kernel's report on the node: journalctl -k. kubectl describe pod has the limit, within which shared_buffers and /dev/shm count.", NULL)
SENTENCE(victim, "a message to the other sessions",
		 "The server ended this session because another of its processes had crashed. The session is not to blame.", NULL)
SENTENCE(victim_help, "the same, and what to do",
		 "Look in the server's log for \"was terminated by signal\": that line has the process. If it was signal 9, the kernel's log has the reason.", NULL)
SENTENCE(client, "a message of a client",
		 "The client ran out of memory, not the server: it reads a result as a whole.", NULL)
SENTENCE(client_help, "the same, and what to do",
		 "Let it read in parts: FETCH_COUNT in psql, setFetchSize without autocommit in JDBC, a named cursor in psycopg.", NULL)

SECTION("A text: reports of the kernel")
PLURAL(oom, "each text with reports",
	   "The kernel killed a process for want of memory.",
	   "The kernel killed processes for want of memory {count} times. This is the last report.", NULL, NULL)
SENTENCE(oom_group, "a control group was full",
		 "A control group had reached its limit, not the machine.", NULL)
SENTENCE(oom_group_limit, "the same, and the limit is known",
		 "A control group had reached its limit of {limit}, not the machine.", NULL)
SENTENCE(oom_group_name, "the name of the group is known", "It is {name}.", NULL)
SENTENCE(oom_machine, "no group was", "The machine had no memory left.", NULL)
SENTENCE(oom_where_open, "the text does not tell",
		 "Not decided: whether the machine had no memory left, or a control group. The lines before and after the table tell.", NULL)
SENTENCE(oom_killed, "it is known who was killed, and what it had",
		 "It killed {name}, process {pid}, which had {bytes} of private memory and had touched {total} of shared memory.", NULL)
SENTENCE(oom_killed_only, "the same, and its shared memory is not told",
		 "It killed {name}, process {pid}, which had {bytes} of private memory.", NULL)
SENTENCE(oom_killed_bare, "the same, and nothing of its memory is told",
		 "It killed {name}, process {pid}.", NULL)
SENTENCE(oom_cut, "the first lines of its table are missing",
		 "The table of processes is not whole. All figures are of the lines that are there.", NULL)
PLURAL(oom_server, "the table tells private and shared memory apart",
	   "{count} process of PostgreSQL had {bytes} of private memory, and {total} of shared memory.",
	   "{count} processes of PostgreSQL had {bytes} of private memory in all, and at least {total} of shared memory, which counts once.", NULL, NULL)
PLURAL(oom_server_mixed, "it does not",
	   "The resident memory of {count} process of PostgreSQL is {bytes}, shared memory included.",
	   "The resident memory of {count} processes of PostgreSQL adds up to {bytes}. That counts shared memory, such as shared_buffers, once for each of them.", NULL, NULL)
SENTENCE(oom_server_at_most, "the same, and the shared memory of the one that was killed is known",
		 "If all have touched as much shared memory as the one that was killed, their private memory is about {bytes}.", NULL)
SENTENCE(oom_largest, "the largest of several",
		 "The largest of them is {pid} with {most}.", NULL)
PLURAL(oom_others, "there are other processes in the table",
	   "{count} other process had {bytes}: {name}.",
	   "{count} other processes had {bytes} in all, the largest of them {name} with {most}.", NULL, NULL)
SENTENCE(oom_is_server, "most private memory was PostgreSQL's",
		 "Most of it was PostgreSQL's own.", NULL)
SENTENCE(oom_is_other, "most was that of others",
		 "Most of it was not PostgreSQL's: look at {name} first.", NULL)
SENTENCE(oom_is_not_server, "there is no table, and it was not PostgreSQL that was killed",
		 "The kernel takes whoever is largest by its count. Not decided: what PostgreSQL had. The whole report has a table of all processes.", NULL)
SENTENCE(oom_help_other, "what to do where it was not PostgreSQL",
		 "See why {name} was that large, and limit it or let it run elsewhere. journalctl -k has the whole report.", NULL)
SENTENCE(oom_open, "that is not known",
		 "Not decided: how much of it was PostgreSQL's own. See Pss in /proc/PID/smaps_rollup of each process, before it happens again.", NULL)
SENTENCE(oom_one, "one process of the server had half of its private memory",
		 "One process had most of that, so look for what it ran: the server's log has it with the line on signal 9.", NULL)
SENTENCE(oom_many, "none had",
		 "No single process had most of that: look at how many sessions there are, and how large each becomes.", NULL)
SENTENCE(oom_help, "what to do",
		 "Lower work_mem, max_connections or shared_buffers, or give the machine more memory. On a machine of its own, vm.overcommit_memory = 2 turns such kills into errors of one statement.", NULL)
SENTENCE(oom_help_shared, "the same, of a group, where most was shared memory",
		 "Lower shared_buffers, see what is in /dev/shm, or raise the limit. Both count within it.", NULL)
SENTENCE(oom_help_group, "the same, of a group",
		 "Lower work_mem, max_connections or shared_buffers, or raise the limit. shared_buffers and /dev/shm count within it.", NULL)
