ALTER TABLE `notice_mails` ADD `weekly_summary` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `notice_mails` ADD `summarized_until` integer;