import { type Clock, DAY_MS, isoTime } from '../../clock'
import type { KeyLists } from '../../credentials/key-lists'
import type { AccountId } from '../../ids'
import type { Balance } from '../../ledger/hold'
import type { Mail, Mailer } from '../../mail/mailer'
import { formatUsd } from '../../money'
import { reasonOf } from '../../result'
import { periodAround } from '../../usage/calendar'
import type { UsageGroup, UsageReports } from '../../usage/reports'
import { summarize, type UsageSummary } from '../../usage/summary'
import { oneLine, type UnsubscribeLinks, unsubscribeHeaders } from '../../webhooks/notice-mails'

/**
 * A week that begins earlier after the last one is the same week: the owner chose another time zone, at most 26 hours away, or the clocks
 * changed.
 */
const MIN_WEEK_MS = 5 * DAY_MS
const MAX_GROUPS = 5

/** An owner who chose the summary. */
export interface SummaryReader {
  readonly accountId: AccountId
  readonly email: string
  /** Null for UTC. */
  readonly timezone: string | null
  /** The end of the last week that was dealt with. Null if none was since the owner chose the summary. */
  readonly summarizedUntil: number | null
}

export interface SpendSummaryStore {
  summaryReaders(): Promise<readonly SummaryReader[]>
  /** Durable when it resolves. False, without a change, if the mark was not `from` any more or the owner no longer wants summaries. */
  moveSummaryMark(account: AccountId, from: number | null, to: number | null): Promise<boolean>
}

interface Parts {
  readonly store: SpendSummaryStore
  readonly reports: Pick<UsageReports, 'usage'>
  readonly credentials: { readonly lists: Pick<KeyLists, 'names'> }
  readonly ledger: { balance(account: AccountId): Promise<Pick<Balance, 'posted'> | null> }
  readonly mailer: Mailer
  readonly clock: Clock
  readonly baseUrl: string
  readonly links: UnsubscribeLinks
  readonly onFailure: (reason: string) => void
}

/** Mails owners who chose it what they spent in the week that ended, Monday to Sunday in their time zone. Each week at most once. */
export class SpendSummaries {
  private readonly parts: Parts

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** One round. A week whose mail the server refused is tried again in the next one. */
  async run(signal: AbortSignal): Promise<void> {
    for (const reader of await this.parts.store.summaryReaders()) {
      if (signal.aborted) return
      try {
        await this.summarize(reader)
      } catch (error) {
        this.parts.onFailure(reasonOf(error))
      }
    }
  }

  private async summarize({ accountId, email, timezone, summarizedUntil }: SummaryReader): Promise<void> {
    const { store, clock, mailer } = this.parts
    const zone = timezone ?? 'UTC'
    const to = periodAround(clock.now(), 'week', zone).start
    if (summarizedUntil !== null && to - summarizedUntil < MIN_WEEK_MS) return
    // Marked before it is sent: a crash in between loses a summary, but never sends it twice.
    if (!(await store.moveSummaryMark(accountId, summarizedUntil, to))) return
    // The week in which the owner chose the summary is the first one.
    if (summarizedUntil === null) return
    try {
      const week = { from: periodAround(to - 1, 'week', zone).start, to, zone }
      const mail = await this.mailFor(accountId, email, week)
      if (mail) await mailer.send(mail)
    } catch (error) {
      await store.moveSummaryMark(accountId, to, summarizedUntil)
      throw error
    }
  }

  /** Null for a week without calls. */
  private async mailFor(accountId: AccountId, to: string, week: Week): Promise<Mail | null> {
    const { credentials, ledger, links, baseUrl } = this.parts
    const byKey = await this.usage(accountId, week, 'key')
    if (byKey.totals.requests === 0) return null
    const byOperation = await this.usage(accountId, week, 'operation')
    const names = new Map((await credentials.lists.names(accountId)).map(({ id, name }) => [String(id), name]))
    const balance = await ledger.balance(accountId)
    const { charged, requests, failedRequests } = byKey.totals
    const unsubscribe = links.of(accountId)
    return {
      to,
      subject: `Your week: $${formatUsd(charged)} spent`,
      text: [
        `From ${dayIn(week.from, week.zone)} to ${dayIn(week.to - 1, week.zone)} (${week.zone})`,
        '',
        `Spent: $${formatUsd(charged)}`,
        `Calls: ${requests}${failedRequests > 0 ? `, of which ${failedRequests} failed` : ''}`,
        ...(balance ? [`Balance on ${isoTime(this.parts.clock.now())}: $${formatUsd(balance.posted)}`] : []),
        ...lines(
          'Keys',
          byKey.groups.map((group) => ({ ...group, name: names.get(group.name) ?? group.name })),
        ),
        ...lines('Operations', byOperation.groups),
        '',
        `All usage: ${baseUrl}/usage`,
        `Choose what is mailed: ${baseUrl}/settings`,
        `Unsubscribe: ${unsubscribe}`,
        '',
      ].join('\n'),
      headers: unsubscribeHeaders(unsubscribe),
    }
  }

  private async usage(accountId: AccountId, week: Week, grouping: 'key' | 'operation'): Promise<UsageSummary> {
    const { from, to } = week
    const question = { accountId, keyId: null, operation: null, status: null, model: null, from, to }
    return summarize(await this.parts.reports.usage(question, [from, to], grouping), [from, to], week)
  }
}

interface Week {
  readonly from: number
  readonly to: number
  readonly zone: string
}

function lines(title: string, groups: readonly UsageGroup[]): string[] {
  const more = groups.length - MAX_GROUPS
  return [
    '',
    `${title}:`,
    ...groups.slice(0, MAX_GROUPS).map(({ name, charged }) => `  $${formatUsd(charged)}  ${oneLine(name)}`),
    ...(more > 0 ? [`  ... and ${more} more`] : []),
  ]
}

/** The date in a time zone, such as 2026-11-16. */
function dayIn(at: number, timeZone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone }).format(at)
}
