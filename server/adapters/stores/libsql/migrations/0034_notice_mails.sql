CREATE TABLE `notice_mails` (
	`account_id` text PRIMARY KEY NOT NULL,
	`kinds` text,
	`mailed_at` integer
);
--> statement-breakpoint
ALTER TABLE `events` ADD `mailed` integer DEFAULT false NOT NULL;--> statement-breakpoint
-- What happened before notices were mailed is not mailed.
UPDATE `events` SET `mailed` = 1;--> statement-breakpoint
CREATE INDEX `events_unmailed` ON `events` (`seq`) WHERE "events"."mailed" = 0;