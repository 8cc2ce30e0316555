import { join } from 'node:path'
import { KeyRing } from '../adapters/sealing/key-ring'
import { SANDBOX_PREFIX, SandboxNetwork } from '../adapters/social/sandbox/sandbox'
import type { Transport } from '../adapters/social/x/wire'
import { XNetwork } from '../adapters/social/x/x-network'
import type { Config } from '../config'
import type { Identity } from '../core/accounts/identity'
import type { AccountStore } from '../core/accounts/store'
import type { Clock } from '../core/clock'
import { keyState } from '../core/credentials/api-key'
import type { CredentialStore } from '../core/credentials/store'
import type { EventPublisher } from '../core/events/live-events'
import type { AccountId, KeyId } from '../core/ids'
import { Approvals } from '../core/social/approvals'
import type { SocialChange } from '../core/social/changes'
import { LinkedAccounts } from '../core/social/linked-accounts'
import { Linking } from '../core/social/linking'
import { resealSessions } from '../core/social/resealing'
import type { SocialStore } from '../core/social/store'
import type { Social } from '../http/social/record'
import type { Log } from '../log'

/** The fixed address that networks send browsers back to (spec 4.3). */
const CALLBACK = '/apis/v1/social/oauth_callback'
const TIMEOUT_MS = 10_000
const IDLE_LOOK_MS = 3_600_000
const OVERDUE_LOOK_MS = 60_000

interface SocialNeeds {
  readonly clock: Clock
  readonly log: Log
  readonly store: SocialStore
  readonly credentials: CredentialStore
  readonly events: EventPublisher
  readonly accounts: Pick<AccountStore, 'byId'>
  readonly identity: Pick<Identity, 'user'>
}

/** Linked accounts on the network that the configuration names, and the sandbox network where it is that one. */
export function openSocial(config: Config, needs: SocialNeeds) {
  const redirectUri = config.baseUrl + CALLBACK
  const { network, sandbox } = openNetwork(config, redirectUri, needs.clock)
  const sealing = new KeyRing(config.sealingKeys)
  const resealing = config.sealingKeys.length > 1 ? resealed(sealing, needs) : Promise.resolve()
  const social = network && composed(config, needs, network, sealing, redirectUri)
  const jobs = social
    ? [renewIdleHourly(social.accounts, needs.log), revokeOverdueEachMinute(social.approvals, needs.log)]
    : []
  return {
    social,
    sandbox,
    async close() {
      await resealing
      for (const job of jobs) await job.close()
      await sandbox?.close()
    },
  }
}

/** Looks every hour for linked accounts that lie idle. A stop waits for the renewal that runs, whose new tokens must be kept. */
function renewIdleHourly(accounts: LinkedAccounts, log: Log) {
  return repeated(IDLE_LOOK_MS, (signal) =>
    accounts.renewIdle(signal).catch((error: unknown) => log.warn('idle accounts', { reason: String(error) })),
  )
}

/** Revokes every minute what nobody confirmed; the first time at once, for what the process before left. */
function revokeOverdueEachMinute(approvals: Approvals, log: Log) {
  const look = (signal: AbortSignal) =>
    approvals
      .revokeOverdue(signal)
      .catch((error: unknown) => log.warn('approvals without confirmation', { reason: String(error) }))
  return repeated(OVERDUE_LOOK_MS, look, true)
}

/** One run at a time. A stop waits for the one that runs. */
function repeated(everyMs: number, run: (signal: AbortSignal) => Promise<unknown>, atOnce = false) {
  const stop = new AbortController()
  let running: Promise<unknown> = atOnce ? run(stop.signal) : Promise.resolve()
  const job = setInterval(() => {
    running = running.then(() => run(stop.signal))
  }, everyMs)
  job.unref()
  return {
    close(): Promise<unknown> {
      clearInterval(job)
      stop.abort()
      return running
    },
  }
}

/** Beside the serving: a ring of several keys is on its way to one. The log says when the older ones may go. */
async function resealed(sealing: KeyRing, { store, log }: SocialNeeds): Promise<void> {
  let isWhole = true
  const onTrouble = (reason: string) => {
    isWhole = false
    log.warn('sealing', { reason })
  }
  try {
    const count = await resealSessions({ store, sealing, onTrouble })
    if (isWhole)
      log.info('sealing: the newest of SEALING_KEYS seals everything; the others may go', { resealed: count })
  } catch (error) {
    log.error('sealing', { reason: error instanceof Error ? error.message : String(error) })
  }
}

function composed(
  config: Config,
  needs: SocialNeeds,
  network: XNetwork,
  sealing: KeyRing,
  redirectUri: string,
): Social {
  const { clock, log, store, credentials, events, accounts, identity } = needs
  const keyOf = async (id: string) => {
    const key = await credentials.byId(id as KeyId) // any text: an id that does not exist is found nowhere
    return key && keyState(key, clock.now()) !== 'revoked' ? key : null
  }
  const parts = {
    store,
    network,
    sealing,
    clock,
    redirectUri,
    asker: async (account: AccountId, id: KeyId) => {
      const [key, owner] = await Promise.all([keyOf(id), accounts.byId(account)])
      const person = owner && (await identity.user(owner.userId))
      return key && { account: person?.name ?? 'an account without a name', key: key.name }
    },
    onChange: ({ accountId, keyId }: SocialChange) => events.publish(accountId, { type: 'social', keyId }),
    onTrouble: (reason: string) => log.warn('social', { network: network.name, reason }),
  }
  const creditBuys = network.name === 'sandbox' || config.creditBuysPaidProviders
  const approvals = new Approvals(parts)
  const linking = new Linking({ ...parts, approvals })
  const overHttps = config.baseUrl.startsWith('https:')
  return { network, store, creditBuys, keyOf, linking, approvals, overHttps, accounts: new LinkedAccounts(parts) }
}

function openNetwork(config: Config, redirectUri: string, clock: Clock) {
  const { social, baseUrl, dataDir } = config
  const common = { clock, timeoutMs: TIMEOUT_MS }
  if (social.provider === 'none') return { network: null, sandbox: null }
  if (social.provider === 'x') {
    const { clientId, clientSecret, apiUrl, authorizeUrl } = social
    const network = new XNetwork({
      ...common,
      name: 'x',
      apiUrl,
      authorizeUrl,
      clientId,
      clientSecret,
      transport: overTheNet,
    })
    return { network, sandbox: null }
  }
  const sandbox = new SandboxNetwork({ path: join(dataDir, 'social-sandbox.db'), now: () => clock.now(), redirectUri })
  const network = new XNetwork({
    ...common,
    name: 'sandbox',
    apiUrl: baseUrl + SANDBOX_PREFIX,
    authorizeUrl: `${baseUrl}${SANDBOX_PREFIX}/authorize`,
    clientId: sandbox.app.clientId,
    clientSecret: sandbox.app.clientSecret,
    transport: sandbox.transport,
  })
  return { network, sandbox }
}

const overTheNet: Transport = (url, init) => fetch(url, init)
