ALTER TABLE `pools` ADD `kind` text DEFAULT 'key' NOT NULL;
--> statement-breakpoint
UPDATE `pools` SET `kind` = 'app' WHERE `id` IN (SELECT `pool_id` FROM `connections`);
--> statement-breakpoint
DROP TABLE `pool_periods`;
--> statement-breakpoint
CREATE TABLE `pool_periods` (
	`pool_id` text NOT NULL,
	`period` text NOT NULL,
	`starts_at` integer NOT NULL,
	`spent` integer NOT NULL,
	`told` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`pool_id`, `period`, `starts_at`)
);
--> statement-breakpoint
CREATE VIEW `pool_budgets` AS
SELECT `p`.`id` AS `pool_id`, `p`.`account_id`, `p`.`kind`, `b`.`value` ->> '$.period' AS `period`,
  CAST(round(((`b`.`value` ->> '$.limitUsd') + CASE WHEN `b`.`value` ->> '$.raise.until' > (SELECT `at` FROM `entries` ORDER BY `seq` DESC LIMIT 1) THEN `b`.`value` ->> '$.raise.usd' ELSE 0 END) * 1000000) AS INTEGER) AS `limit`
FROM `pools` `p`, json_each(CASE json_type(`p`.`budget`) WHEN 'object' THEN json_array(json(`p`.`budget`)) ELSE `p`.`budget` END) `b`;
--> statement-breakpoint
CREATE TRIGGER `pool_periods_begin` AFTER INSERT ON `pool_periods` BEGIN
  DELETE FROM `pool_periods` WHERE `pool_id` = NEW.`pool_id` AND `period` = NEW.`period` AND `starts_at` < NEW.`starts_at` - 8000000000;
  UPDATE `pool_periods` SET `spent` = (SELECT coalesce(sum(`u`.`charged`), 0) FROM `pools` `p` JOIN `usage_rollup` `u` ON `u`.`account_id` = `p`.`account_id` AND `u`.`slot` >= NEW.`starts_at` / 900000 WHERE `p`.`id` = NEW.`pool_id` AND (`p`.`kind` = 'account' OR `u`.`key_id` IN (SELECT `k`.`id` FROM (SELECT `id`, `pool_id` FROM `keys` WHERE `account_id` = (SELECT `account_id` FROM `pools` WHERE `id` = NEW.`pool_id`) UNION ALL SELECT `id`, `pool_id` FROM `connections` WHERE `account_id` = (SELECT `account_id` FROM `pools` WHERE `id` = NEW.`pool_id`)) `k` JOIN `pools` `c` ON `c`.`id` = `k`.`pool_id` LEFT JOIN `pools` `g` ON `g`.`id` = `c`.`parent_id` WHERE NEW.`pool_id` IN (`c`.`id`, `c`.`parent_id`, `g`.`parent_id`))))
  WHERE `pool_id` = NEW.`pool_id` AND `period` = NEW.`period` AND `starts_at` = NEW.`starts_at`;
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_budgets` AFTER UPDATE OF `spent` ON `pool_periods` WHEN NEW.`told` < 100 BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  SELECT 'evt_' || substr(`b`.`pool_id`, 6) || '_' || `b`.`period` || NEW.`starts_at` || '_' || `s`.`step`, 'budget.threshold', `b`.`account_id`, (SELECT `id` FROM `keys` WHERE `account_id` = `b`.`account_id` AND `pool_id` = `b`.`pool_id` AND `revoked_at` IS NULL AND `replaced_by` IS NULL LIMIT 1), (SELECT `at` FROM `entries` ORDER BY `seq` DESC LIMIT 1), json_object('percent', `s`.`step`, 'limit_micros_usd', `b`.`limit`, 'spent_micros_usd', NEW.`spent`, 'period', `b`.`period`, 'period_starts_at', NEW.`starts_at`, 'app_id', (SELECT `id` FROM `connections` WHERE `account_id` = `b`.`account_id` AND `pool_id` = `b`.`pool_id`))
  FROM `pool_budgets` `b` JOIN (SELECT 50 AS `step` UNION ALL SELECT 80 UNION ALL SELECT 100) `s` WHERE `b`.`pool_id` = NEW.`pool_id` AND `b`.`period` = NEW.`period` AND `s`.`step` > NEW.`told` AND NEW.`spent` * 100 >= `b`.`limit` * `s`.`step`
  ON CONFLICT DO NOTHING;
  UPDATE `pool_periods` SET `told` = max(`told`, coalesce((SELECT CASE WHEN NEW.`spent` >= `b`.`limit` THEN 100 WHEN NEW.`spent` * 100 >= `b`.`limit` * 80 THEN 80 WHEN NEW.`spent` * 100 >= `b`.`limit` * 50 THEN 50 ELSE 0 END FROM `pool_budgets` `b` WHERE `b`.`pool_id` = NEW.`pool_id` AND `b`.`period` = NEW.`period`), 0))
  WHERE `pool_id` = NEW.`pool_id` AND `period` = NEW.`period` AND `starts_at` = NEW.`starts_at`;
END;
