import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@libsql/client'
import { drizzle } from 'drizzle-orm/libsql'
import { openIdentity } from '../../../server/adapters/identity/identity'
import type { IdentityFault, IdentityOptions } from '../../../server/adapters/identity/identity-options'
import type { Identity } from '../../../server/core/accounts/identity'
import { openFile } from '../../support/databases/database-file'
import { writeMigratedDatabase } from '../../support/databases/migrated-database'
import { QUICK_HASH } from '../../support/quick-hash'

export const ORIGIN = 'http://localhost:3000'
export const PASSWORD = 'correct horse battery'

/** A sign-in service on its own temporary database file, and callers of it. */
export interface IdentityBench extends AsyncDisposable {
  readonly identity: Identity
  readonly client: Client
  readonly signUps: { id: string; email: string; name: string; address: string | null }[]
  readonly faults: IdentityFault[]
  /** POST of JSON, as curl would: no Origin unless given. */
  post(path: string, body: unknown, extra?: Extra): Promise<Response>
  get(path: string, extra?: Extra): Promise<Response>
}

export interface Extra {
  readonly headers?: Record<string, string>
  readonly address?: string | null
}

export async function openBench(options: Partial<IdentityOptions> = {}): Promise<IdentityBench> {
  const folder = mkdtempSync(join(tmpdir(), 'identity-'))
  const file = join(folder, 'test.db')
  await writeMigratedDatabase(file)
  const client = openFile(file)
  await client.execute('PRAGMA journal_mode=WAL')
  // As the writer's client: nothing may open an interactive transaction.
  client.transaction = () => Promise.reject(new Error('interactive transaction'))
  const signUps: IdentityBench['signUps'] = []
  const faults: IdentityFault[] = []
  const identity = openIdentity({
    db: drizzle(client),
    secret: 'a test secret of enough characters 0123456789',
    baseUrl: ORIGIN,
    serviceName: 'Gateway',
    trustedOrigins: ['http://127.0.0.1:3000'],
    signUpPerMinute: 100,
    production: false,
    onSignUp: async (user, { address }) => void signUps.push({ ...user, address }),
    onFault: (fault) => faults.push(fault),
    passwordHash: QUICK_HASH,
    ...options,
  })
  let calls = 0
  const call = (path: string, init: RequestInit, { headers, address = '192.0.2.1' }: Extra = {}) =>
    identity.handle(
      new Request(`http://localhost/api/auth${path}`, {
        ...init,
        headers: { ...init.headers, ...headers } as Record<string, string>,
      }),
      { address, requestId: `req_${++calls}`, isFromThisMachine: false },
    )
  return {
    identity,
    client,
    signUps,
    faults,
    post: (path, body, extra) =>
      call(
        path,
        { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
        extra,
      ),
    get: (path, extra) => call(path, { method: 'GET' }, extra),
    async [Symbol.asyncDispose]() {
      client.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The Cookie header a jar would send after this response. */
export function cookieOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}

export function newUser(email: string) {
  return { email, password: PASSWORD, name: 'Ada' }
}

export async function errorOf(response: Response): Promise<Record<string, unknown>> {
  const body = (await response.json()) as { error: Record<string, unknown> }
  return { status: response.status, ...body.error }
}
