# Tables in the manner of TPC-H, and its 22 queries: a small shop with parts, suppliers,
# customers and orders, whose values are computed from the number of the row, so that each
# run has the same.
package TpcH;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(tpch_tables tpch_queries);

# The statements that make the tables, with that many orders; there are some four lines of
# an order.
sub tpch_tables
{
	my ($orders) = @_;
	my ($customers, $parts, $suppliers) = map { int($orders / $_) || 1 } 10, 8, 150;

	return qq{
		CREATE TABLE region AS SELECT g AS r_regionkey, (ARRAY['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[g + 1] AS r_name FROM generate_series(0, 4) g;
		CREATE TABLE nation AS SELECT g AS n_nationkey, 'NATION ' || g AS n_name, g % 5 AS n_regionkey FROM generate_series(0, 24) g;
		CREATE TABLE supplier AS SELECT g AS s_suppkey, 'Supplier#' || g AS s_name, 'street ' || g AS s_address, g * 7 % 25 AS s_nationkey,
			(10 + g % 25) || '-555-' || g AS s_phone, (g * 7919 % 1000000 / 100.0)::numeric(12,2) AS s_acctbal,
			CASE WHEN g % 17 = 0 THEN 'Customer has Complaints' ELSE repeat('quiet deposits ', 3) END AS s_comment FROM generate_series(1, $suppliers) g;
		CREATE TABLE customer AS SELECT g AS c_custkey, 'Customer#' || g AS c_name, 'road ' || g AS c_address, g * 11 % 25 AS c_nationkey,
			(10 + g * 11 % 25) || '-555-' || g AS c_phone, (g * 6151 % 1100000 / 100.0 - 999)::numeric(12,2) AS c_acctbal,
			(ARRAY['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'MACHINERY', 'HOUSEHOLD'])[g % 5 + 1] AS c_mktsegment, repeat('final requests ', 4) AS c_comment FROM generate_series(1, $customers) g;
		CREATE TABLE part AS SELECT g AS p_partkey, (ARRAY['green', 'forest', 'blush', 'azure', 'linen'])[g % 5 + 1] || ' part ' || g AS p_name, 'Manufacturer#' || g % 5 AS p_mfgr,
			'Brand#' || g % 5 + 1 || g % 4 + 1 AS p_brand, (ARRAY['STANDARD', 'SMALL', 'PROMO', 'ECONOMY'])[g % 4 + 1] || ' ' || (ARRAY['TIN', 'BRASS', 'COPPER'])[g % 3 + 1] AS p_type,
			g % 50 + 1 AS p_size, (ARRAY['SM BOX', 'LG CASE', 'MED BAG', 'JUMBO PKG'])[g % 4 + 1] AS p_container, (900 + g % 1000)::numeric(12,2) AS p_retailprice FROM generate_series(1, $parts) g;
		CREATE TABLE partsupp AS SELECT p AS ps_partkey, (p * 3 + s * 7) % $suppliers + 1 AS ps_suppkey, p * 31 % 9999 AS ps_availqty, (p * 17 % 1000)::numeric(12,2) AS ps_supplycost, repeat('even theodolites ', 5) AS ps_comment
			FROM generate_series(1, $parts) p, generate_series(0, 3) s;
		CREATE TABLE orders AS SELECT g AS o_orderkey, g * 13 % $customers + 1 AS o_custkey, (ARRAY['F', 'O', 'P'])[g % 3 + 1] AS o_orderstatus, (g * 97 % 400000)::numeric(12,2) AS o_totalprice,
			date '1992-01-01' + g % 2400 AS o_orderdate, (ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '4-LOW', '5-NONE'])[g * 7 % 5 + 1] AS o_orderpriority, 'Clerk#' || g % 100 AS o_clerk, 0 AS o_shippriority,
			CASE WHEN g % 50 = 0 THEN 'special packages, requests' ELSE repeat('slyly ', 5) END AS o_comment FROM generate_series(1, $orders) g;
		CREATE TABLE lineitem AS SELECT o AS l_orderkey, (o * 5 + n * 11) % $parts + 1 AS l_partkey, (o * 3 + n) % $suppliers + 1 AS l_suppkey, n AS l_linenumber, ((o + n) % 50 + 1)::numeric(12,2) AS l_quantity,
			((o * 31 + n) % 100000)::numeric(12,2) AS l_extendedprice, ((o + n) % 11 / 100.0)::numeric(12,2) AS l_discount, (n % 9 / 100.0)::numeric(12,2) AS l_tax,
			(ARRAY['A', 'N', 'R'])[(o + n) % 3 + 1] AS l_returnflag, (ARRAY['F', 'O'])[o % 2 + 1] AS l_linestatus, date '1992-01-01' + o % 2400 + n * 10 AS l_shipdate, date '1992-01-01' + o % 2400 + 30 AS l_commitdate,
			date '1992-01-01' + o % 2400 + n * 12 AS l_receiptdate, (ARRAY['DELIVER IN PERSON', 'COLLECT COD', 'NONE'])[n % 3 + 1] AS l_shipinstruct, (ARRAY['AIR', 'MAIL', 'SHIP', 'RAIL', 'TRUCK', 'AIR REG', 'FOB'])[(o + n) % 7 + 1] AS l_shipmode,
			repeat('carefully ', 3) AS l_comment FROM generate_series(1, $orders) o, generate_series(1, o % 7 + 1) n;
		CREATE INDEX ON orders (o_custkey);
		CREATE INDEX ON lineitem (l_orderkey);
		CREATE INDEX ON lineitem (l_partkey);
		ANALYZE};
}

# The queries, by number from 1 on; they ask what those of the benchmark ask.
sub tpch_queries
{
	my $revenue = 'sum(l_extendedprice * (1 - l_discount))';

	return (
		"SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), $revenue, avg(l_quantity), avg(l_discount), count(*) FROM lineitem WHERE l_shipdate <= date '1998-09-02' GROUP BY 1, 2 ORDER BY 1, 2",
		"SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr FROM part, supplier, partsupp, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size < 30 AND p_type LIKE '%BRASS' AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE' AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE') ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100",
		"SELECT l_orderkey, $revenue AS revenue, o_orderdate, o_shippriority FROM customer, orders, lineitem WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < date '1997-03-15' AND l_shipdate > date '1993-03-15' GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10",
		"SELECT o_orderpriority, count(*) FROM orders WHERE o_orderdate >= date '1993-07-01' AND EXISTS (SELECT FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY 1 ORDER BY 1",
		"SELECT n_name, $revenue AS revenue FROM customer, orders, lineitem, supplier, nation, region WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA' GROUP BY n_name ORDER BY revenue DESC",
		"SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= date '1994-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
		"SELECT supp, cust, year, sum(volume) FROM (SELECT n1.n_name AS supp, n2.n_name AS cust, extract(year FROM l_shipdate) AS year, l_extendedprice * (1 - l_discount) AS volume FROM supplier, lineitem, orders, customer, nation n1, nation n2 WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey AND n1.n_nationkey <> n2.n_nationkey) s GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
		"SELECT year, sum(CASE WHEN nation = 'NATION 3' THEN volume ELSE 0 END) / sum(volume) FROM (SELECT extract(year FROM o_orderdate) AS year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey AND p_type LIKE 'ECONOMY%') s GROUP BY year ORDER BY year",
		"SELECT nation, year, sum(amount) FROM (SELECT n_name AS nation, extract(year FROM o_orderdate) AS year, l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount FROM part, supplier, lineitem, partsupp, orders, nation WHERE s_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%') s GROUP BY 1, 2 ORDER BY 1, 2 DESC",
		"SELECT c_custkey, c_name, $revenue AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_returnflag = 'R' AND c_nationkey = n_nationkey GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC LIMIT 20",
		"SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey GROUP BY ps_partkey HAVING sum(ps_supplycost * ps_availqty) > (SELECT sum(ps_supplycost * ps_availqty) * 0.0001 FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey) ORDER BY value DESC",
		"SELECT l_shipmode, sum((o_orderpriority IN ('1-URGENT', '2-HIGH'))::int), sum((o_orderpriority NOT IN ('1-URGENT', '2-HIGH'))::int) FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') GROUP BY 1 ORDER BY 1",
		"SELECT c_count, count(*) FROM (SELECT c_custkey, count(o_orderkey) AS c_count FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) s GROUP BY c_count ORDER BY 2 DESC, 1 DESC",
		"SELECT 100.0 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / $revenue FROM lineitem, part WHERE l_partkey = p_partkey",
		"WITH revenue AS MATERIALIZED (SELECT l_suppkey AS supplier_no, $revenue AS total FROM lineitem GROUP BY l_suppkey) SELECT s_suppkey, s_name, s_address, s_phone, total FROM supplier, revenue WHERE s_suppkey = supplier_no AND total = (SELECT max(total) FROM revenue) ORDER BY s_suppkey",
		"SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%') GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3",
		"SELECT sum(l_extendedprice) / 7.0 FROM lineitem, part WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)",
		"SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) FROM customer, orders, lineitem WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 200) AND c_custkey = o_custkey AND o_orderkey = l_orderkey GROUP BY 1, 2, 3, 4, 5 ORDER BY o_totalprice DESC, o_orderdate LIMIT 100",
		"SELECT $revenue FROM lineitem, part WHERE p_partkey = l_partkey AND l_shipmode IN ('AIR', 'AIR REG') AND ((p_brand = 'Brand#12' AND p_size BETWEEN 1 AND 15) OR (p_brand = 'Brand#23' AND p_size BETWEEN 1 AND 20))",
		"SELECT s_name, s_address FROM supplier, nation WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%') AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey)) AND s_nationkey = n_nationkey ORDER BY s_name",
		"SELECT s_name, count(*) AS numwait FROM supplier, lineitem l1, orders, nation WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate AND EXISTS (SELECT FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey) AND NOT EXISTS (SELECT FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate) AND s_nationkey = n_nationkey GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100",
		"SELECT code, count(*), sum(c_acctbal) FROM (SELECT substring(c_phone FROM 1 FOR 2) AS code, c_acctbal FROM customer WHERE c_acctbal > (SELECT avg(c_acctbal) FROM customer WHERE c_acctbal > 0) AND NOT EXISTS (SELECT FROM orders WHERE o_custkey = c_custkey AND o_orderkey % 3 = 0)) s GROUP BY code ORDER BY code");
}

1;
