DROP TABLE `leases`;--> statement-breakpoint
DROP TABLE `nodes`;--> statement-breakpoint
DROP TABLE `secrets`;--> statement-breakpoint
DROP TABLE `cells`;--> statement-breakpoint
DROP TABLE `control_version`;--> statement-breakpoint
DROP TABLE `key_directory`;--> statement-breakpoint
DROP TABLE `payment_directory`;--> statement-breakpoint
ALTER TABLE `account_directory` DROP COLUMN `cell`;