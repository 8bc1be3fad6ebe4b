/* Functions inlined into others, for debug information. */
static inline __attribute__((always_inline)) int
inner(int x)
{
	volatile int y = x;

	return y * 3;
}

static inline __attribute__((always_inline)) int
middle(int x)
{
	return inner(x) + inner(x + 1);
}

__attribute__((noinline)) int
outer(int x)
{
	int sum = 0;

	for (int i = 0; i < x; i++)
	{
		int nested = middle(i);

		sum += nested;
	}
	return sum;
}

int
start(int x)
{
	return outer(x) + middle(x);
}
