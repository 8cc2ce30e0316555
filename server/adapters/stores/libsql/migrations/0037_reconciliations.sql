CREATE TABLE `reconciliations` (
	`id` text PRIMARY KEY NOT NULL,
	`actor` text NOT NULL,
	`started_at` integer NOT NULL,
	`ended_at` integer NOT NULL,
	`is_applied` integer NOT NULL,
	`is_complete` integer NOT NULL,
	`problems` integer NOT NULL,
	`result` text NOT NULL
);
