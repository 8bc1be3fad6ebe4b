// operators.cpp
//	  What C++ allocates, each by a function that returns true.

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

struct alignas(256) Wide { char bytes[512]; };

extern "C" bool
call_new()
{
	int		   *one = new int(17);
	bool		right = *one == 17;

	delete one;
	return right;
}

extern "C" bool
call_new_array()
{
	char	   *many = new char[1000]();
	bool		right = many[999] == 0;

	delete[] many;
	return right;
}

extern "C" bool
call_aligned_new()
{
	Wide	   *wide = static_cast<Wide *>(::operator new(sizeof(Wide), std::align_val_t(256)));
	bool		right = reinterpret_cast<std::uintptr_t>(wide) % 256 == 0;

	::operator delete(wide, std::align_val_t(256));
	return right;
}

extern "C" bool
call_new_nothrow()
{
	char	   *small = new (std::nothrow) char[100];
	volatile std::size_t huge = SIZE_MAX / 4;
	bool		right = small != nullptr && new (std::nothrow) char[huge] == nullptr;

	delete[] small;
	return right;
}

extern "C" bool
call_string()
{
	std::string text(1000, 'x');

	return (text + text).size() == 2000;
}

extern "C" bool
call_throw()
{
	try
	{
		throw std::runtime_error("thrown");
	}
	catch (const std::exception &)
	{
		return true;
	}
	return false;
}
