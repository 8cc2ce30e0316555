CREATE TABLE `webhook_hosts` (
	`host` text PRIMARY KEY NOT NULL,
	`failures` integer NOT NULL,
	`since` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `webhooks` ADD `confirmed_at` integer;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `code_tries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `dropped` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE `webhooks` SET `confirmed_at` = `created_at`;
