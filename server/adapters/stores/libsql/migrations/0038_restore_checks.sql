CREATE TABLE `restore_checks` (
	`restored_at` integer PRIMARY KEY NOT NULL,
	`checked_at` integer NOT NULL,
	`actor` text NOT NULL
);
