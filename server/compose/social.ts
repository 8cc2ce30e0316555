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
import { ZERO } from '../core/money'
import { Approvals } from '../core/social/approvals'
import type { OnSocialFailing, SocialChange } from '../core/social/changes'
import { LinkedAccounts } from '../core/social/linked-accounts'
import { Linking } from '../core/social/linking'
import type { SocialStore } from '../core/social/store'
import type { WebhookStore } from '../core/webhooks/webhook'
import type { Social } from '../http/social/record'
import { startApprovalRevocations, startIdleRenewals, startResealing } from '../jobs/social'
import type { Log } from '../log'
import { eventWriter } from './webhooks'

/** The fixed path that networks redirect browsers to (spec 4.3). */
const CALLBACK = '/apis/v1/social/oauth_callback'
const TIMEOUT_MS = 10_000

interface SocialNeeds {
  readonly clock: Clock
  readonly log: Log
  readonly store: SocialStore
  readonly credentials: CredentialStore
  readonly events: EventPublisher
  readonly accounts: Pick<AccountStore, 'byId'>
  readonly identity: Pick<Identity, 'user'>
  readonly stores: { readonly webhooks: Pick<WebhookStore, 'addEvents' | 'countLost'> }
  /** Whether everything else is sealed with the newest key. */
  readonly isResealed: () => boolean
}

/** Linked accounts on the configured network, and the sandbox network if that is the one. */
export function openSocial(config: Config, needs: SocialNeeds) {
  const redirectUri = config.baseUrl + CALLBACK
  const { network, sandbox } = openNetwork(config, redirectUri, needs.clock)
  const sealing = new KeyRing(config.sealingKeys)
  const social = network && composed(config, needs, network, sealing, redirectUri)
  const jobs = [
    ...(config.sealingKeys.length > 1 ? [startResealing(needs, sealing, needs.log)] : []),
    ...(social
      ? [startIdleRenewals(social.accounts, needs.log), startApprovalRevocations(social.approvals, needs.log)]
      : []),
  ]
  return {
    social,
    sandbox,
    async close() {
      await Promise.all(jobs.map((job) => job.close()))
      await sandbox?.close()
    },
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
    const key = await credentials.byId(id as KeyId) // safe for any text: an unknown id finds nothing
    return key && keyState(key, clock.now()) !== 'revoked' ? key : null
  }
  const parts = {
    store,
    network,
    sealing,
    clock,
    redirectUri,
    requester: async (account: AccountId, id: KeyId) => {
      const [key, owner] = await Promise.all([keyOf(id), accounts.byId(account)])
      const person = owner && (await identity.user(owner.userId))
      return key && { account: person?.name ?? 'an account without a name', key: key.name }
    },
    onChange: ({ accountId, keyId }: SocialChange) => events.publish(accountId, { type: 'social', keyId }),
    onFailing: failingOnce(eventWriter(needs.stores.webhooks, clock, log)),
    onTrouble: (reason: string) => log.warn('social', { network: network.name, reason }),
  }
  const creditBuys = network.name === 'sandbox' || config.creditBuysPaidProviders
  const approvals = new Approvals(parts)
  const linking = new Linking({ ...parts, approvals })
  const overHttps = config.baseUrl.startsWith('https:')
  const { social } = config
  const costOf = (price: string) =>
    social.provider === 'sandbox' ? ZERO : social.provider === 'x' ? social.costs.get(price) : undefined
  return {
    network,
    store,
    creditBuys,
    costOf,
    keyOf,
    linking,
    approvals,
    overHttps,
    accounts: new LinkedAccounts(parts),
  }
}

/** Most links whose failures are remembered; beyond it the unique id of the event alone prevents a second one. */
const MAX_REMEMBERED = 10_000

/** Notifies the owner of a failing link, once for each reason until it is linked again: that makes a new session. */
function failingOnce(writeEvent: ReturnType<typeof eventWriter>): OnSocialFailing {
  const written = new Set<string>()
  return ({ accountId, keyId, session, user, reason, scope }) => {
    const cause = [session, reason, ...(scope === null ? [] : [scope])].join('_')
    if (written.has(cause)) return
    if (written.size >= MAX_REMEMBERED) written.clear()
    written.add(cause)
    writeEvent('social.failing', cause, { key_id: keyId, user, reason, scope }, accountId)
  }
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
