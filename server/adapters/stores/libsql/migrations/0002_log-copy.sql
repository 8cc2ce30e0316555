CREATE TABLE `direct_changes` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`change` text NOT NULL
);
--> statement-breakpoint
ALTER TABLE `owner` ADD `applied_chain` text DEFAULT '' NOT NULL;
