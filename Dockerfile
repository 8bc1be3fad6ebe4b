# Docker's official image of PostgreSQL, with pg_leakhunt: docker build --build-arg PG_MAJOR=18 .
ARG PG_MAJOR=18
FROM postgres:$PG_MAJOR AS build
COPY . /pg_leakhunt
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev libdw-dev libunwind-dev make postgresql-server-dev-$PG_MAJOR
RUN make -C /pg_leakhunt with_llvm=no DESTDIR=/image install
FROM postgres:$PG_MAJOR
RUN apt-get update && apt-get install -y --no-install-recommends libdw1 libunwind8 python3-psycopg2 && rm -rf /var/lib/apt/lists/*
COPY --from=build /image /
CMD ["postgres", "-c", "shared_preload_libraries=pg_leakhunt"]
