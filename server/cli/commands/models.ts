import type { ModelRecord } from '../../http/models/record'
import { ApiClient } from '../api'
import { COMMON_USAGE, type Command, parsedArgs, words } from '../command'
import { CommandRefused, UsageError } from '../control-client'
import { asJson, printed, usdText } from '../print'
import { PROGRAM } from '../program'
import { table } from '../table'

export const MODELS: Command = {
  name: 'models',
  summary: 'list the models and their prices',
  usage: COMMON_USAGE,
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, {})
    words('models', positionals, [])
    const api = await ApiClient.open(terminal, values)
    const answer = await api.json('GET', '/v1/models')
    const models = (answer['data'] as readonly ModelRecord[] | undefined) ?? []
    printed(terminal, values, answer, () =>
      table(
        ['MODEL', 'BY', 'INPUT USD/M', 'OUTPUT USD/M', 'NEEDS A TOP-UP'],
        models.map((model) => [
          model.id,
          model.owned_by,
          String(model.pricing?.input ?? unitPrice(model)),
          String(model.pricing?.output ?? '-'),
          model.recharge_required ? 'yes' : 'no',
        ]),
      ),
    )
  },
}

export const CHAT: Command = {
  name: 'chat',
  summary: 'ask a model and stream its answer',
  usage: `PROMPT... [--model MODEL] [--system TEXT] [--max-tokens N]

Piped text is put before the prompt. The default model is the first of "${PROGRAM} models" that can chat.

${COMMON_USAGE}`,
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, {
      model: { type: 'string' },
      system: { type: 'string' },
      'max-tokens': { type: 'string' },
    })
    const piped = await terminal.input()
    const prompt = [piped?.trim(), positionals.join(' ')].filter(Boolean).join('\n\n')
    if (!prompt) throw new UsageError('"chat" needs a prompt, as words or piped text')
    const maxTokens = values['max-tokens']
    if (maxTokens !== undefined && !/^\d{1,7}$/.test(maxTokens))
      throw new UsageError(`--max-tokens must be a number, not "${maxTokens}"`)
    const api = await ApiClient.open(terminal, values)
    const body = {
      model: values.model ?? (await firstModel(api)),
      messages: [
        ...(values.system ? [{ role: 'system', content: values.system }] : []),
        { role: 'user', content: prompt },
      ],
      ...(maxTokens !== undefined && { max_tokens: Number(maxTokens) }),
      ...(!values.json && { stream: true }),
    }
    const answer = await api.send('POST', '/v1/chat/completions', {
      body,
      headers: { accept: 'text/event-stream, application/json' },
    })
    if (values.json) return terminal.out(asJson(await answer.json()))
    for await (const piece of pieces(answer)) terminal.out(piece)
    terminal.out('\n')
    const cost = answer.headers.get('x-cost-micros-usd')
    if (cost !== null && cost !== '0') terminal.err(`Cost ${usdText(Number(cost))} USD\n`)
  },
}

async function firstModel(api: ApiClient): Promise<string> {
  const models = ((await api.json('GET', '/v1/models'))['data'] as readonly ModelRecord[] | undefined) ?? []
  const model = models.find((one) => one.supported_endpoint_types.includes('chat_completions'))
  if (!model) throw new CommandRefused('this gateway has no models to chat with')
  return model.id
}

/** The text of a completion: piece by piece if it is streamed, otherwise at once. */
async function* pieces(answer: Response): AsyncGenerator<string> {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    const completion: unknown = await answer.json()
    yield deltaText(completion, 'message')
    return
  }
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of answer.body ?? []) {
    rest += decoder.decode(chunk, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const data = line.startsWith('data:') ? line.slice(5).trim() : ''
      if (!data || data === '[DONE]') continue
      const event: unknown = JSON.parse(data)
      const error: unknown = Reflect.get(Object(event), 'error')
      if (error) throw new CommandRefused(String(Reflect.get(Object(error), 'message') ?? 'the response broke off'))
      yield deltaText(event, 'delta')
    }
  }
}

function deltaText(event: unknown, member: 'delta' | 'message'): string {
  const choices: unknown = Reflect.get(Object(event), 'choices')
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined
  const content: unknown = Reflect.get(Object(Reflect.get(Object(first), member)), 'content')
  return typeof content === 'string' ? content : ''
}

/** A price that is not per token, in the first column of prices. */
function unitPrice({ pricing }: Partial<Pick<ModelRecord, 'pricing'>>): string {
  const { characters, images } = pricing ?? {}
  if (characters !== undefined) return `${characters} characters`
  const usd = (images ?? []).map((one) => one.usd)
  const [least, most] = [Math.min(...usd), Math.max(...usd)]
  return usd.length === 0 ? '-' : `${least === most ? least : `${least}-${most}`} a picture`
}
