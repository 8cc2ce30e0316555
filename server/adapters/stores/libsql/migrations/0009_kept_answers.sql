CREATE INDEX `kept_answers_request` ON `kept_answers` (`request_id`);--> statement-breakpoint
ALTER TABLE `kept_answers` DROP COLUMN `cost`;