import { randomBytes } from 'node:crypto'
import { KeyRing } from '../../../server/adapters/sealing/key-ring'
import type { Actor } from '../../../server/core/audit'
import type { ApiKey } from '../../../server/core/credentials/api-key'
import { Approvals } from '../../../server/core/social/approvals'
import type { SocialChange, SocialFailing } from '../../../server/core/social/changes'
import { LinkedAccounts } from '../../../server/core/social/linked-accounts'
import { Linking } from '../../../server/core/social/linking'
import type { SocialScope } from '../../../server/core/social/scopes'
import { NOON, openTestStores } from '../../support/ledger-parts'
import { FixtureNetwork } from '../../support/social/fixture-network'

export const OWNER: Actor = { kind: 'owner', id: 'user-1', address: '192.0.2.1' }
const PATIENCE = new AbortController().signal

/** The core of linking on a real database file, with a network that does what the test wants and a clock that stands still. */
export async function openSocialParts() {
  const stores = await openTestStores()
  const network = new FixtureNetwork()
  const changes: SocialChange['what'][] = []
  const trouble: string[] = []
  const failing: SocialFailing['reason'][] = []
  let now = NOON
  const state = { keyIsLive: true }
  const requester = { account: 'Ada', key: 'an app' }
  const sealingKeys = [{ id: 'k1', bytes: new Uint8Array(randomBytes(32)) }]
  const parts = {
    store: stores.social,
    network,
    sealing: new KeyRing(sealingKeys),
    clock: { now: () => now },
    redirectUri: 'https://gateway.example/apis/v1/social/oauth_callback',
    requester: async () => (state.keyIsLive ? requester : null),
    onChange: ({ what }: SocialChange) => changes.push(what),
    onFailing: ({ reason }: SocialFailing) => failing.push(reason),
    onTrouble: (reason: string) => trouble.push(reason),
  }
  const approvals = new Approvals(parts)
  const linking = new Linking({ ...parts, approvals })
  const accounts = new LinkedAccounts(parts)
  let codes = 0
  const key = async () => stores.key(await stores.account())
  return {
    ...parts,
    sealingKeys,
    stores,
    linking,
    approvals,
    accounts,
    changes,
    trouble,
    failing,
    state,
    key,
    advance: (ms: number) => {
      now += ms
    },
    /** A code as the network would send it back. */
    code(): string {
      const code = `code-${++codes}`
      network.codes.set(code, { verifier: null, user: '1001' })
      return code
    },
    finish: (callback: Partial<Parameters<Linking['finish']>[0]>) =>
      linking.finish({ state: null, code: null, error: null, ...callback }, PATIENCE),
    /** A key with an account linked to it. */
    async linked(scopes: readonly SocialScope[] = []): Promise<ApiKey> {
      const made = await key()
      await this.link(made, scopes)
      return made
    },
    async link(made: ApiKey, scopes: readonly SocialScope[] = []): Promise<void> {
      const { state } = await linking.start(made, scopes, OWNER)
      const end = await this.approved(state)
      const confirmed = await approvals.confirm(end.link, end.proof, PATIENCE)
      if (confirmed.kind !== 'linked') throw new Error(confirmed.kind)
    },
    /** The return of a browser whose person approved. */
    async approved(state: string) {
      const end = await this.finish({ state, code: this.code() })
      if (end.kind !== 'approved') throw new Error(end.kind)
      return end
    },
    confirm: (end: { link: string; proof: string }) => approvals.confirm(end.link, end.proof, PATIENCE),
    like: (made: ApiKey, tweetId = '77') =>
      accounts.use(made, 'like.write', (actor) => network.act(actor, { kind: 'like', tweetId })),
    unlinkSignal: PATIENCE,
    close: () => stores.close(),
  }
}
