CREATE TABLE `cells` (
	`name` text PRIMARY KEY NOT NULL,
	`database_id` text NOT NULL,
	`opened_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `cells_database` ON `cells` (`database_id`);--> statement-breakpoint
CREATE TABLE `control_version` (
	`id` integer PRIMARY KEY NOT NULL,
	`version` integer NOT NULL,
	CONSTRAINT "control_version_is_one_row" CHECK("control_version"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE `key_directory` (
	`hash` text PRIMARY KEY NOT NULL,
	`cell` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `payment_directory` (
	`claim` text PRIMARY KEY NOT NULL,
	`cell` text NOT NULL
);
--> statement-breakpoint
ALTER TABLE `account_directory` ADD `cell` text DEFAULT 'main' NOT NULL;