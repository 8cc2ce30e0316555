import { afterAll, afterEach, beforeAll, expect } from 'bun:test'
import { rm } from 'node:fs/promises'
import type { Api } from '../../../server/core/apis/api'
import { type ApiGateway, openApiGateway } from '../../support/api-upstream'
import { reconcile } from '../../support/reconcile'

type Options = NonNullable<Parameters<typeof openApiGateway>[1]>

/**
 * One gateway for the tests of a file: each sells what it needs, to accounts of its own. A test with other settings, or which leaves something behind,
 * opens one that it has `alone`. When a gateway closes, everything that must agree in its books is compared.
 */
export function sharedApiGateway() {
  let shared: ApiGateway
  let alone: ApiGateway | null = null
  beforeAll(async () => {
    shared = await openApiGateway()
  })
  afterEach(async () => {
    if (alone) await closeReconciled(alone)
    alone = null
  })
  afterAll(() => closeReconciled(shared))
  return {
    /** The gateway of all tests, which sells this API; its upstream forgets what it got before. */
    selling(api: Partial<Api>, answer: Options['answer'] = (call) => Response.json(call)): ApiGateway {
      shared.upstream.calls.length = 0
      shared.upstream.answers(answer)
      shared.sell(api)
      return shared
    },
    async sellingAlone(api: Partial<Api>, options: Options = {}): Promise<ApiGateway> {
      alone = await openApiGateway(api, options)
      return alone
    },
  }
}

async function closeReconciled(gateway: ApiGateway): Promise<void> {
  await gateway.close(true)
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
  await rm(gateway.folder, { recursive: true, force: true })
}
