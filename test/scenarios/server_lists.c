/*
 * server_lists.c
 *	  Lists, as far as what is looked at needs them.
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "nodes/value.h"

#define ROOM 8

static List *
new_list(NodeTag type)
{
	List	   *list = palloc0(sizeof(List));

	list->type = type;
	list->max_length = ROOM;
	list->elements = palloc(sizeof(ListCell) * ROOM);
	return list;
}

/* The place of another element. */
static ListCell *
append(List **list, NodeTag type)
{
	if (*list == NIL)
		*list = new_list(type);
	if ((*list)->length == (*list)->max_length)
	{
		(*list)->max_length *= 2;
		(*list)->elements = repalloc((*list)->elements,
									 sizeof(ListCell) * (*list)->max_length);
	}
	return &(*list)->elements[(*list)->length++];
}

List *
lappend(List *list, void *datum)
{
	append(&list, T_List)->ptr_value = datum;
	return list;
}

List *
lappend_int(List *list, int datum)
{
	append(&list, T_IntList)->int_value = datum;
	return list;
}

List *
list_concat(List *list, const List *other)
{
	ListCell   *cell;

	foreach(cell, other)
		list = lappend(list, lfirst(cell));
	return list;
}

/* All that is compared are strings. */
bool
list_member(const List *list, const void *datum)
{
	ListCell   *cell;

	foreach(cell, list)
		if (strcmp(strVal(lfirst(cell)), strVal(datum)) == 0)
		return true;
	return false;
}

bool
list_member_int(const List *list, int datum)
{
	ListCell   *cell;

	foreach(cell, list)
		if (lfirst_int(cell) == datum)
		return true;
	return false;
}

void
list_sort(List *list, list_sort_comparator compare)
{
	if (list != NIL)
		qsort(list->elements, list->length, sizeof(ListCell),
			  (int (*) (const void *, const void *)) compare);
}

String *
makeString(char *text)
{
	String	   *string = palloc0(sizeof(String));

	string->type = T_String;
	string->sval = text;
	return string;
}
