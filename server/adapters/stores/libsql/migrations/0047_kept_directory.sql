ALTER TABLE `cells` ADD `told` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `key_directory` ADD `keep_until` integer;--> statement-breakpoint
CREATE INDEX `key_directory_old` ON `key_directory` (`keep_until`) WHERE "key_directory"."keep_until" IS NOT NULL;--> statement-breakpoint
ALTER TABLE `payment_directory` ADD `keep_until` integer;--> statement-breakpoint
CREATE INDEX `payment_directory_old` ON `payment_directory` (`keep_until`) WHERE "payment_directory"."keep_until" IS NOT NULL;