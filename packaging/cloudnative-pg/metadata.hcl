// What CloudNativePG's repository of extension images asks for beside the Dockerfile.  Its
// packages are those of apt.postgresql.org, which has none of pg_leakhunt yet: doc/packages.md
// says what is missing.
metadata = {
  name                     = "pg-leakhunt"
  sql_name                 = "pg_leakhunt"
  image_name               = "pg-leakhunt"
  // of the package, and of libunwind
  licenses                 = ["PostgreSQL", "MIT"]
  shared_preload_libraries = ["pg_leakhunt"]
  postgresql_parameters    = {}
  extension_control_path   = []
  dynamic_library_path     = []
  ld_library_path          = ["system"]
  bin_path                 = []
  env                      = {}
  auto_update_os_libs      = false
  required_extensions      = []
  create_extension         = true

  versions = {
    bookworm = {
      "18" = {
        // renovate: suite=bookworm-pgdg depName=postgresql-18-leakhunt
        package = "1.0-1.pgdg12+1"
        // renovate: suite=bookworm-pgdg depName=postgresql-18-leakhunt extractVersion=^(?<version>\d+\.\d+)
        sql     = "1.0"
      }
    }
    trixie = {
      "18" = {
        // renovate: suite=trixie-pgdg depName=postgresql-18-leakhunt
        package = "1.0-1.pgdg13+1"
        // renovate: suite=trixie-pgdg depName=postgresql-18-leakhunt extractVersion=^(?<version>\d+\.\d+)
        sql     = "1.0"
      }
    }
  }
}
