import { createHash } from 'node:crypto'
import type { CellOwner, NodeFacts } from '../../core/cluster/leases'
import type { Log } from '../../log'

/** The years whose rules are compared: the same on every node, whenever it was started. */
const FROM = Date.UTC(2025, 0)
const TO = Date.UTC(2036, 0)

/**
 * A fingerprint of the time zones that this runtime knows and of their clock changes, which decide when days and budgets of accounts end. It covers the
 * rules themselves, because a runtime does not report its version of tzdata. Takes about 20 ms.
 */
export function zoneRules(zones: readonly string[] = Intl.supportedValuesOf('timeZone')): string {
  const changes: string[] = []
  for (const zone of zones) {
    let at: Temporal.ZonedDateTime | null = Temporal.Instant.fromEpochMilliseconds(FROM).toZonedDateTimeISO(zone)
    for (; at && at.epochMilliseconds < TO; at = at.getTimeZoneTransition('next'))
      changes.push(`${zone} ${at.epochMilliseconds} ${at.offsetNanoseconds}\n`)
  }
  return createHash('sha256').update(changes.join('')).digest('hex').slice(0, 16)
}

/** Logs once for each owner whose time zone rules differ from this node's. */
export function zoneComparison({ id, zones }: Pick<NodeFacts, 'id' | 'zones'>, log: Pick<Log, 'warn'>) {
  let reported: string | null = null
  return (owner: CellOwner | null): void => {
    if (!owner || owner.nodeId === id || owner.nodeId === reported || owner.zones === null || owner.zones === zones)
      return
    reported = owner.nodeId
    log.warn("this node's time zone rules differ from the owner's", { owner: owner.url })
  }
}
