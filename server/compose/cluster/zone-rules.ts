import { createHash } from 'node:crypto'
import type { CellOwner, NodeFacts } from '../../core/cluster/leases'
import type { Log } from '../../log'

/** The years whose rules are compared: the same ones by every node, whenever it started. */
const FROM = Date.UTC(2025, 0)
const TO = Date.UTC(2036, 0)

/**
 * A fingerprint of the time zones that this runtime knows and of when their clocks change: days and budgets of owners end by them. It is of
 * the rules themselves, because a runtime does not say which version of tzdata it has. Takes some 20 ms.
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

/** Logs once for each owner whose rules of time zones are not those of this node. */
export function zoneComparison({ id, zones }: Pick<NodeFacts, 'id' | 'zones'>, log: Pick<Log, 'warn'>) {
  let reported: string | null = null
  return (owner: CellOwner | null): void => {
    if (!owner || owner.nodeId === id || owner.nodeId === reported || owner.zones === null || owner.zones === zones)
      return
    reported = owner.nodeId
    log.warn("this node's time zone rules differ from the owner's", { owner: owner.url })
  }
}
