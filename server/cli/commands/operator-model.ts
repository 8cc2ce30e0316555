import { readFile } from 'node:fs/promises'
import type { ModelRecord } from '../../http/models/record'
import type { OperatorModels } from '../../http/operator/record'
import { parsedArgsWith, words } from '../command'
import { askServer, UsageError } from '../control-client'
import { asJson } from '../print'
import { type Columns, recordText } from '../record-text'
import type { Given, OperatorCommand } from './operator-command'

const MODELS: Columns = { models: ['id', 'owned_by', 'supported_endpoint_types', 'pricing', 'recharge_required'] }

export const MODEL_COMMANDS: readonly OperatorCommand[] = [
  { words: 'model list', about: 'list models, their routes and prices', route: 'GET /models', columns: MODELS },
  {
    words: 'model put',
    about: 'add or replace a model, or several under "models" (docs/models.md)',
    usage: 'FILE.json',
    async run(args) {
      const { values, positionals } = parsedArgsWith(args, { json: { type: 'boolean' } })
      const { file } = words('operator model put', positionals, ['file'])
      const models: ModelRecord[] = []
      for (const entry of await entriesOf(file)) {
        const answer = await askServer('POST', '/api/operator/models', { entry })
        models.push(...(answer as OperatorModels).models)
      }
      return values.json ? asJson({ models }) : recordText({ models }, MODELS)
    },
  },
  {
    words: 'model price',
    about: 'set the price of a model added with "put", in USD per million tokens',
    route: 'POST /models/:id/price',
    args: ['id', 'input', 'output', 'cache_read?', 'cache_write?'],
    read: ({ id, input, output, cache_read: read, cache_write: write }: Given) => {
      if (read !== undefined && write === undefined) throw new UsageError('give CACHE_READ and CACHE_WRITE, or neither')
      const cache = read === undefined ? {} : { cache_read: Number(read), cache_write: Number(write) }
      return { id, price: { input: Number(input), output: Number(output), ...cache } }
    },
    columns: MODELS,
  },
  { words: 'model remove', about: 'remove a model added with "put"', route: 'DELETE /models/:id', args: ['id'] },
]

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
