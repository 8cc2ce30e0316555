import { readFile } from 'node:fs/promises'
import type { ModelRecord } from '../../http/models/record'
import type { OperatorModels } from '../../http/operator/record'
import { askServer, UsageError } from '../control-client'
import { asJson, count } from '../print'
import { table } from '../table'

export const MODEL_HELP = `  model list                                list models, their routes and prices
  model put FILE.json                       add or replace a model, or several under "models" (docs/models.md)
  model price ID INPUT OUTPUT [CACHE_READ CACHE_WRITE]
                                            set the price of a model added with "put", in USD per million tokens
  model remove ID                           remove a model added with "put"`

/** Runs an `operator model` command. Resolves to its output. */
export async function modelCommand([command, ...rest]: readonly string[], json: boolean): Promise<string> {
  const answers = await send(command, rest)
  if (json) return asJson(answers.length === 1 ? answers[0] : answers)
  if (command === 'remove') return `Removed ${rest[0]}.\n`
  return modelTable(answers.flatMap((answer) => (answer as OperatorModels).models))
}

async function send(command: string | undefined, rest: readonly string[]): Promise<unknown[]> {
  const expect = (...counts: readonly number[]) => {
    if (!counts.includes(rest.length))
      throw new UsageError(
        `"operator model ${command}" takes ${counts.map((n) => count(n, 'argument')).join(' or ')}; see --help`,
      )
  }
  switch (command) {
    case 'list':
      expect(0)
      return [await askServer('models', {})]
    case 'put': {
      expect(1)
      const answers: unknown[] = []
      for (const entry of await entriesOf(rest[0] ?? '')) answers.push(await askServer('model-put', { entry }))
      return answers
    }
    case 'price': {
      expect(3, 5)
      const [input, output, read, write] = rest.slice(1).map(Number)
      const cache = rest.length === 5 ? { cache_read: read, cache_write: write } : {}
      return [await askServer('model-price', { id: rest[0], price: { input, output, ...cache } })]
    }
    case 'remove':
      expect(1)
      return [await askServer('model-remove', { id: rest[0] })]
    default:
      throw new UsageError(`unknown command "operator model ${command ?? ''}"; see --help`)
  }
}

async function entriesOf(file: string): Promise<readonly unknown[]> {
  let content: unknown
  try {
    content = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
  const { models } = Object(content)
  return Array.isArray(models) ? models : [content]
}

function modelTable(models: OperatorModels['models']): string {
  if (models.length === 0) return 'No models.\n'
  return table(
    ['MODEL', 'BY', 'ROUTES', 'IN USD/M', 'OUT', 'CACHE READ', 'CACHE WRITE', 'TOP-UP'],
    models.map((model) => [
      model.id,
      model.owned_by,
      model.supported_endpoint_types.join(' '),
      model.pricing.input ?? unitPrice(model),
      model.pricing.output ?? '-',
      model.pricing.cache_read ?? '-',
      model.pricing.cache_write ?? '-',
      model.recharge_required ? 'needed' : 'not needed',
    ]),
  )
}

/** A price that is not per token, in the first column of prices. */
export function unitPrice({ pricing }: Partial<Pick<ModelRecord, 'pricing'>>): string {
  const { characters, images } = pricing ?? {}
  if (characters !== undefined) return `${characters} characters`
  const usd = (images ?? []).map((one) => one.usd)
  const [least, most] = [Math.min(...usd), Math.max(...usd)]
  return usd.length === 0 ? '-' : `${least === most ? least : `${least}-${most}`} a picture`
}
