import { statfs } from 'node:fs/promises'
import type { Config } from '../config'
import { HOUR_MS, isoTime } from '../core/clock'
import type { LastTimes } from '../core/ledger/clock-check'
import { reasonOf } from '../core/result'
import type { Log } from '../log'

interface Running {
  readonly now: () => number
  readonly lastTimes: () => Promise<LastTimes>
  readonly needsOperator: () => Promise<boolean>
  /** Why copies cannot be made on schedule; null if they can. */
  readonly backupWarning: () => Promise<string | null>
}

/** A good finding (`state`), or a change that the operator should make (`problem`). */
interface Finding {
  readonly check: string
  readonly state?: string
  readonly problem?: string
}

type Settings = Pick<
  Config,
  | 'trustedProxies'
  | 'isLoopback'
  | 'baseUrl'
  | 'mail'
  | 'cards'
  | 'dataDir'
  | 'models'
  | 'social'
  | 'payments'
  | 'backup'
>

const GIB = 1024 ** 3
const MIN_FREE_BYTES = GIB
const MIN_FREE_SHARE = 0.05

/** Logs what a start in production should tell its operator, one line for each check. */
export async function logSelfCheck(config: Settings, running: Running, log: Log): Promise<void> {
  for (const finding of await selfCheck(config, running))
    if (finding.problem === undefined) log.info('self-check', { ...finding })
    else log.warn('self-check', { ...finding })
}

/** Looks at the surroundings of a gateway that runs: its needs beyond valid settings. Changes nothing. */
export async function selfCheck(config: Settings, running: Running): Promise<readonly Finding[]> {
  const checks: Readonly<Record<string, () => Outcome | Promise<Outcome>>> = {
    proxies: () => proxies(config),
    mail: () => mail(config),
    'card processor': () => cardKey(config),
    'card webhooks': () => cardWebhooks(config),
    clock: () => clock(running),
    disk: () => disk(config),
    operator: () => operator(running),
    sandbox: () => sandbox(config),
    backups: () => backups(config, running),
  }
  const found = Object.entries(checks).map(async ([check, look]): Promise<Finding> => {
    try {
      return { check, ...(await look()) }
    } catch (error) {
      return { check, problem: reasonOf(error) }
    }
  })
  return Promise.all(found)
}

type Outcome = Omit<Finding, 'check'>

function proxies({ trustedProxies, isLoopback, baseUrl }: Settings): Outcome {
  if (trustedProxies)
    return {
      state:
        'TRUSTED_PROXIES is set; the first request through them is logged with the addresses of the proxy and of its caller',
    }
  if (isLoopback && baseUrl.startsWith('https:'))
    return {
      problem: 'TRUSTED_PROXIES is not set, so every caller has the address of the proxy. Set it, such as to 127.0.0.1',
    }
  return { state: 'TRUSTED_PROXIES is not set: callers connect directly' }
}

async function mail({ mail: settings }: Settings): Promise<Outcome> {
  if (!settings) return { problem: 'SMTP_URL is not set: nobody can reset a password without you' }
  const { smtpProblem } = await import('../adapters/mail/smtp-mailer')
  const problem = await smtpProblem(settings)
  return problem === null
    ? { state: 'the mail server answers' }
    : { problem: `the mail server cannot be used: ${problem}. Check SMTP_URL` }
}

async function cardKey({ cards }: Settings): Promise<Outcome> {
  if (!cards) return { state: 'off' }
  const { stripeKeyProblem } = await import('../adapters/payments/stripe/stripe-access')
  const problem = await stripeKeyProblem(cards)
  return problem === null ? { state: 'STRIPE_SECRET_KEY is accepted' } : { problem }
}

/** Its form was checked with the settings; whether it is the right one shows the first webhook. */
function cardWebhooks({ cards, baseUrl }: Settings): Outcome {
  if (!cards) return { state: 'off' }
  const to = `${baseUrl}/api/webhooks/stripe`
  if (!baseUrl.startsWith('https:'))
    return { problem: `the processor sends webhooks only to https: ${to}. Check BASE_URL` }
  return { state: `STRIPE_WEBHOOK_SECRET has the right form; webhooks must go to ${to}` }
}

async function clock({ now, lastTimes }: Running): Promise<Outcome> {
  const { entry } = await lastTimes()
  const last = entry === null ? 'there is no entry of the ledger yet' : `the last entry is from ${isoTime(entry)}`
  return { state: `${isoTime(now())}; ${last}` }
}

async function disk({ dataDir }: Settings): Promise<Outcome> {
  const { bavail, blocks, bsize } = await statfs(dataDir)
  const free = `${((bavail * bsize) / GIB).toFixed(1)} GiB free in ${dataDir}`
  const isLow = bavail * bsize < MIN_FREE_BYTES || bavail < blocks * MIN_FREE_SHARE
  return isLow ? { problem: `only ${free}. On a full disk nothing can be charged` } : { state: free }
}

async function operator({ needsOperator }: Running): Promise<Outcome> {
  if (await needsOperator())
    return { problem: 'there is no operator: sign up, and enter the one-time token of this start at /operator' }
  return { state: 'there is one' }
}

function sandbox({ models, social, payments }: Settings): Outcome {
  const on = [
    ...(models.sandbox ? ['SANDBOX_MODELS'] : []),
    ...(social.provider === 'sandbox' ? ['SOCIAL_PROVIDER'] : []),
    ...(payments.rail === 'sandbox' ? ['PAYMENTS'] : []),
    ...(payments.sandboxTopUps ? ['SANDBOX_TOPUPS'] : []),
  ]
  return on.length === 0
    ? { state: 'off' }
    : { problem: `sold to callers, although it is for trying out: ${on.join(', ')}` }
}

async function backups({ backup }: Settings, { backupWarning }: Running): Promise<Outcome> {
  if (backup.to === null) return { problem: 'no copies are scheduled: set BACKUP_TO, or copy the data by other means' }
  const warning = await backupWarning()
  if (warning !== null) return { problem: `no copies are made: ${warning}. Check BACKUP_TO` }
  return { state: `every ${Math.round(backup.everyMs / HOUR_MS)} h to ${backup.to}` }
}
