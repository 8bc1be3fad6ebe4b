SELECT hold_chunk(3000);
SELECT allocate_in_balance(100, 200);
SELECT allocate_and_reset(100, 50);
SELECT hold_huge(20000000);
SELECT release_huge();
SELECT release_chunk();
