import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelEntry } from '../../../server/core/models/model-entry'
import { PRICE } from '../model-gateway'
import { openAi, openVendor } from '../vendor-double'
import { openDashboard } from './browser'

/** The dashboard of a gateway with models of one OpenAI-compatible double, which signup credit pays for. */
export async function openModelDashboard(models: readonly (Pick<ModelEntry, 'id'> & Partial<ModelEntry>)[]) {
  const vendor = openVendor(() => openAi.plain('Hi', { input: 100, output: 40, cached: 60 }))
  const folder = await mkdtemp(join(tmpdir(), 'gateway-models-'))
  const file = join(folder, 'models.json')
  const upstream = { kind: 'openai', base_url: `${vendor.origin}/v1` }
  await writeFile(file, JSON.stringify({ models: models.map((model) => ({ upstream, price: PRICE, ...model })) }))
  const dashboard = await openDashboard({ env: { MODELS_FILE: file, CREDIT_BUYS_PAID_PROVIDERS: 'true' } })
  return {
    vendor,
    dashboard,
    async close() {
      await dashboard.close()
      vendor.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
