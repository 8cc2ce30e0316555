import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const MODEL = 'gpt-4o-mini'

/** Puts one chat model on sale in a data folder, answered by the double at `base`. */
export function writeChatModel(folder: string, base: string): void {
  const entry = {
    id: MODEL,
    upstream: { kind: 'openai', base_url: `${base}/v1`, concurrency: 10_000 },
    price: { input: 0.15, output: 0.6 },
    recharge_required: false,
  }
  writeFileSync(join(folder, 'models.json'), JSON.stringify({ models: [entry] }))
}
