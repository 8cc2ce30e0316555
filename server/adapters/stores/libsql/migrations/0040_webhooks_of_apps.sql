ALTER TABLE `webhooks` ADD `connection_id` text;--> statement-breakpoint
CREATE INDEX `webhooks_connection` ON `webhooks` (`connection_id`) WHERE "webhooks"."connection_id" IS NOT NULL;--> statement-breakpoint
CREATE TRIGGER `webhooks_end_with_their_app` AFTER UPDATE OF `disconnected_at` ON `connections` WHEN NEW.`disconnected_at` IS NOT NULL BEGIN
  UPDATE `webhook_deliveries` SET `state` = 'failed', `error` = 'The app that made this webhook was disconnected.' WHERE `state` = 'pending' AND `webhook_id` IN (SELECT `id` FROM `webhooks` WHERE `connection_id` = NEW.`id`);
  UPDATE `webhooks` SET `status` = 'paused' WHERE `connection_id` = NEW.`id`;
END;--> statement-breakpoint
CREATE TRIGGER `webhooks_begin_with_a_live_app` AFTER INSERT ON `webhooks` WHEN NEW.`status` = 'active' AND EXISTS (SELECT 1 FROM `connections` WHERE `id` = NEW.`connection_id` AND `disconnected_at` IS NOT NULL) BEGIN
  UPDATE `webhooks` SET `status` = 'paused' WHERE `id` = NEW.`id`;
END;--> statement-breakpoint
CREATE TRIGGER `webhooks_resume_with_a_live_app` AFTER UPDATE OF `status`, `connection_id` ON `webhooks` WHEN NEW.`status` = 'active' AND EXISTS (SELECT 1 FROM `connections` WHERE `id` = NEW.`connection_id` AND `disconnected_at` IS NOT NULL) BEGIN
  UPDATE `webhook_deliveries` SET `state` = 'failed', `error` = 'The app that made this webhook was disconnected.' WHERE `state` = 'pending' AND `webhook_id` = NEW.`id`;
  UPDATE `webhooks` SET `status` = 'paused' WHERE `id` = NEW.`id`;
END;--> statement-breakpoint
UPDATE `webhooks` SET `connection_id` = (SELECT iif(`a`.`actor_kind` = 'app', `a`.`actor_id`, NULL) FROM `audit_log` `a` WHERE `a`.`account_id` = `webhooks`.`account_id` AND json_extract(`a`.`detail`, '$.id') = `webhooks`.`id` AND (`a`.`action` = 'webhook.create' OR (`a`.`action` = 'webhook.change' AND json_extract(`a`.`before`, '$.host') IS NOT json_extract(`a`.`detail`, '$.host'))) ORDER BY `a`.`id` DESC LIMIT 1);
