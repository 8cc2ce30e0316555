CREATE TABLE `payment_answers` (
	`key` text PRIMARY KEY NOT NULL,
	`body` text NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `payment_answers_at` ON `payment_answers` (`at`);--> statement-breakpoint
DROP INDEX `payments_open`;--> statement-breakpoint
DROP INDEX `payments_payer`;--> statement-breakpoint
ALTER TABLE `payments` ADD `address_group` text;--> statement-breakpoint
ALTER TABLE `payments` ADD `deliveries` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `payments` ADD `sent_at` integer;--> statement-breakpoint
ALTER TABLE `payments` ADD `next_look_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `payments` ADD `looks` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `payments_credential` ON `payments` (`credential_hash`);--> statement-breakpoint
CREATE INDEX `payments_due` ON `payments` (`next_look_at`) WHERE "state" IN ('working', 'settling', 'settled') OR ("state" = 'paid_unserved' AND "purpose" = 'top_up');--> statement-breakpoint
CREATE INDEX `payments_payer_open` ON `payments` (`payer`) WHERE "payments"."state" IN ('working', 'settling');--> statement-breakpoint
CREATE INDEX `payments_payer_refused` ON `payments` (`payer`,`refused_at`) WHERE "payments"."refused_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `payments_address_refused` ON `payments` (`address_group`,`refused_at`) WHERE "payments"."refused_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `payments_never_paid` ON `payments` (`updated_at`) WHERE "payments"."state" = 'released' AND "payments"."paid" = 0;--> statement-breakpoint
CREATE INDEX `payments_payer` ON `payments` (`payer`,`updated_at`);--> statement-breakpoint
UPDATE `payments` SET `next_look_at` = `lease_until`;--> statement-breakpoint
UPDATE `payments` SET `sent_at` = `updated_at` WHERE `paid` = 1 OR `refused_at` IS NOT NULL OR `state` = 'settling';
