import type { FormFiles, GatewayOperation } from './operations.ts'

/** The input of a trial with the chosen files in its body, as base64. */
export async function withFiles({ fields }: GatewayOperation, input: object, files: FormFiles): Promise<object> {
  const members = fields.flatMap(({ name, sentAs = name, multiple }) => {
    const chosen = files[name] ?? []
    return chosen.length === 0 ? [] : [{ sentAs, chosen, isList: multiple === true }]
  })
  if (members.length === 0) return input
  const entries = await Promise.all(
    members.map(async ({ sentAs, chosen, isList }) => {
      const sent = await Promise.all(chosen.map(asJson))
      return [sentAs, isList ? sent : sent[0]] as const
    }),
  )
  return { ...input, body: { ...Object(Reflect.get(input, 'body')), ...Object.fromEntries(entries) } }
}

async function asJson(file: File) {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error ?? new Error('the file could not be read'))
    reader.readAsDataURL(file)
  })
  return { filename: file.name, content_type: file.type, base64: url.slice(url.indexOf(',') + 1) }
}
