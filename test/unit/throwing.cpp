// throwing.cpp
//	  Exceptions that pass frames of C, as those of libraries of C++ pass the server's:
//	  stacks are captured where objects are destroyed on their way, and where they are
//	  caught.

namespace {

void (*go_on)(int);

struct Object {
	int level;

	~Object()
	{
		go_on(level);
	}
};

}

extern "C" {

void by_frames_of_c(int count, int level);
void throw_through(int level, void (*function)(int));
void throw_or_go_on(int count, int level);

// Throw, when "count" frames of C, each with one of C++, lie outwards.
__attribute__((noinline)) void
throw_or_go_on(int count, int level)
{
	Object object = {level + 1};

	if (count == 0)
		throw level;
	by_frames_of_c(count - 1, level);
}

// Catch what was thrown by frames further inwards.
__attribute__((noinline)) void
throw_through(int level, void (*function)(int))
{
	go_on = function;
	try
	{
		throw_or_go_on(3, level);
	}
	catch (int caught)
	{
		go_on(caught + 1);
	}
}

}
