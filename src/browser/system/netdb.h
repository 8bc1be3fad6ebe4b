/* What PostgreSQL includes of this, a page does not have, and nothing here calls. */
