import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SANDBOX_PREFIX, SandboxNetwork } from '../../server/adapters/social/sandbox/sandbox'
import { XNetwork } from '../../server/adapters/social/x/x-network'
import { approval } from '../support/social/approval'
import { socialNetworkContract } from './social-network.contract'

const ORIGIN = 'https://gateway.example'

socialNetworkContract('sandbox', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-sandbox-'))
  const redirectUri = `${ORIGIN}/apis/v1/social/oauth_callback`
  const now = Date.UTC(2026, 10, 21, 12, 0, 20)
  const sandbox = new SandboxNetwork({ path: join(folder, 'sandbox.db'), now: () => now, redirectUri })
  const { app } = sandbox
  const network = (clientSecret: string) =>
    new XNetwork({
      name: 'sandbox',
      authorizeUrl: `${ORIGIN}${SANDBOX_PREFIX}/authorize`,
      apiUrl: ORIGIN + SANDBOX_PREFIX,
      clientId: app.clientId,
      clientSecret,
      transport: sandbox.transport,
      clock: { now: () => now },
      timeoutMs: 5000,
    })
  return {
    network: network(app.clientSecret),
    impostor: network('another secret'),
    redirectUri,
    me: { id: '1001', username: 'ada' },
    other: { id: '1002', username: 'grace' },
    third: { id: '1003' },
    decide: (authUrl, decision) => approval((request) => sandbox.answer(request), authUrl, decision),
    async withdraw() {
      for (const { id } of await sandbox.grants.of('1001')) await sandbox.grants.withdraw('1001', id)
    },
    expire: () => sandbox.grants.expireAccess('1001'),
    trouble: (what) => sandbox.faults.set('1001', what, 1),
    async postsSaying(text) {
      return (await sandbox.community.timeline(100)).filter((post) => post.text === text).length
    },
    async close() {
      await sandbox.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})
