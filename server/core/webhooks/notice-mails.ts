import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AuditEntry } from '../audit'
import { type Clock, DAY_MS, isoTime, MINUTE_MS } from '../clock'
import type { AccountId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import { reasonOf } from '../result'
import { type EventType, type GatewayEvent, OPERATOR_EVENTS } from './event'

/** The default kinds of mailed notices. A sign-in from a new device always has a mail of its own. */
export const MAILED_BY_DEFAULT: readonly EventType[] = [
  'key.exhausted',
  'key.expiring',
  'balance.low',
  'balance.empty',
  'alert.reached',
  'topup.failed',
  'social.revoked',
  'social.failing',
  'webhook.paused',
  'account.suspended',
  'payment.unserved',
  'ledger.alarm',
  'upstream.down',
]

/** Between two mails to an owner. Events in between are in the second one. */
const DIGEST_MS = 15 * MINUTE_MS
/** Older events are not mailed any more: delivery failed, or mail was not configured. */
const STALE_MS = DAY_MS
const EVENTS_AT_ONCE = 1_000
const MAX_LINES = 20

interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}
interface Mailer {
  send(mail: Mail): Promise<void>
}

/** The owner of an account, as notices are mailed to them. */
export interface MailReader {
  readonly accountId: AccountId
  readonly email: string
  readonly operator: boolean
  readonly kinds: readonly EventType[]
  readonly mailedAt: number | null
  /** The newest event of the gateway that was mailed. */
  readonly mailedSeq: number
}

/** An owner's choice of mails. */
export interface MailChoice {
  readonly kinds: readonly EventType[]
  readonly weeklySummary: boolean
}

export interface NoticeMailStore {
  choiceOf(account: AccountId): Promise<MailChoice>
  /** Absent members stay as they are. */
  choose(account: AccountId, choice: Partial<MailChoice>, audit: AuditEntry): Promise<void>
  /**
   * Dispatched events that were not mailed, oldest first, but for those of accounts that were mailed since `mailedSince`: so many of
   * accounts, and so many of the gateway, from the first on that an operator was not mailed who is not left out.
   */
  unmailed(from: number, mailedSince: number, limit: number): Promise<readonly GatewayEvent[]>
  /** The owners of these accounts, and all operators. */
  readers(of: readonly AccountId[]): Promise<readonly MailReader[]>
  /** Notes, before it is sent, that an account is mailed: a mail server that fails is asked again after the same pause. */
  begin(account: AccountId, at: number): Promise<void>
  /** Notes the newest event of the gateway that an operator was mailed. */
  sent(account: AccountId, seq: number): Promise<void>
  /** These events, and all from before `until`, are not mailed again. */
  finish(events: readonly GatewayEvent[], until: number): Promise<void>
}

interface NoticeMailsParts {
  readonly store: NoticeMailStore
  readonly mailer: Mailer
  readonly clock: Clock
  readonly baseUrl: string
  readonly links: UnsubscribeLinks
  readonly onFailure: (reason: string) => void
}

/** Mails notices to owners: one mail for all that happened since the last one, at most every 15 minutes. */
export class NoticeMails {
  private readonly parts: NoticeMailsParts
  private readonly mutex = new KeyedMutex()

  constructor(parts: NoticeMailsParts) {
    this.parts = parts
  }

  /** One round. An event whose mail the server refused is tried again after the pause, for a day. */
  run(signal: AbortSignal): Promise<void> {
    return this.mutex.take('round', () => this.round(signal))
  }

  private async round(signal: AbortSignal): Promise<void> {
    const now = this.parts.clock.now()
    const stale = now - STALE_MS
    const waiting = await this.parts.store.unmailed(stale, now - DIGEST_MS, EVENTS_AT_ONCE)
    const readers = await this.parts.store.readers([...new Set(waiting.flatMap(({ accountId }) => accountId ?? []))])
    const done = new Set(waiting)
    for (const reader of readers) {
      if (signal.aborted) return
      const events = waiting.filter((event) => isFor(reader, event))
      if (events.length === 0) continue
      const isPaused = reader.mailedAt !== null && reader.mailedAt > now - DIGEST_MS
      // Another operator may have had them in a mail.
      if (isPaused || !(await this.send(reader, events, now))) for (const event of events) done.delete(event)
    }
    await this.parts.store.finish([...done], stale)
  }

  private async send(reader: MailReader, events: readonly GatewayEvent[], now: number): Promise<boolean> {
    await this.parts.store.begin(reader.accountId, now)
    try {
      await this.parts.mailer.send(
        noticeMail(reader.email, events, this.parts.baseUrl, this.parts.links.of(reader.accountId)),
      )
      const ofGateway = events.findLast(({ accountId }) => accountId === null)
      if (ofGateway) await this.parts.store.sent(reader.accountId, ofGateway.seq)
      return true
    } catch (error) {
      this.parts.onFailure(reasonOf(error))
      return false
    }
  }
}

function isFor({ accountId, operator, kinds, mailedSeq }: MailReader, event: GatewayEvent): boolean {
  if (event.accountId === null && event.seq <= mailedSeq) return false
  const isOperators = OPERATOR_EVENTS.some((type) => type === event.type)
  return kinds.some((kind) => kind === event.type) && (isOperators ? operator : event.accountId === accountId)
}

function noticeMail(to: string, events: readonly GatewayEvent[], baseUrl: string, unsubscribe: string): Mail {
  const lines = events.slice(0, MAX_LINES).map(({ type, at, data }) => `${isoTime(at)}  ${type}${about(data)}`)
  const more = events.length - lines.length
  return {
    to,
    subject: events.length === 1 ? `Notice: ${events[0]?.type}` : `${events.length} notices`,
    text: [
      ...lines,
      ...(more > 0 ? [`... and ${more} more`] : []),
      '',
      `All notices: ${baseUrl}/notices`,
      `Choose which ones are mailed: ${baseUrl}/settings`,
      `Unsubscribe: ${unsubscribe}`,
      '',
    ].join('\n'),
    headers: unsubscribeHeaders(unsubscribe),
  }
}

/** The headers of one-click unsubscribing (RFC 8058). */
export const unsubscribeHeaders = (link: string) => ({
  'List-Unsubscribe': `<${link}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
})

/** The subject of an event, in one line of plain text. */
function about(data: GatewayEvent['data']): string {
  const named = ['name', 'percent', 'tier', 'host', 'operation', 'upstream', 'balance_micros_usd'].flatMap((member) => {
    const value = data[member]
    return typeof value === 'string' || typeof value === 'number' ? [`${member}: ${value}`] : []
  })
  const line = oneLine(named.join(', '))
  return line === '' ? '' : ` (${line})`
}

/** The first 200 characters of a text, without what could begin a new line or hide. */
export function oneLine(text: string): string {
  return [...text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')].slice(0, 200).join('')
}

/** Links that end the mails of notices for one account without a sign-in (RFC 8058). Signed, not stored; they open nothing else. */
export class UnsubscribeLinks {
  private readonly secret: string
  private readonly baseUrl: string

  constructor(secret: string, baseUrl: string) {
    this.secret = secret
    this.baseUrl = baseUrl
  }

  of(account: AccountId): string {
    return `${this.baseUrl}/unsubscribe?token=${account}.${this.signature(account)}`
  }

  /** Null for a token that is forged. */
  read(token: string): AccountId | null {
    const [account = '', signature = ''] = token.split('.')
    const [mine, theirs] = [Buffer.from(this.signature(account)), Buffer.from(signature)]
    return mine.length === theirs.length && timingSafeEqual(mine, theirs) ? (account as AccountId) : null // signed by us
  }

  private signature(account: string): string {
    return createHmac('sha256', this.secret).update(`unsubscribe\n${account}`).digest('base64url')
  }
}
