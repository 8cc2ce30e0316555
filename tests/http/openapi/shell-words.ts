/** The words of one POSIX shell command: quotes, line ends after a backslash, and `$NAME` in double quotes and bare. */
export function shellWords(command: string, variables: Readonly<Record<string, string>>): string[] {
  const words: string[] = []
  const part = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\([\s\S])|([^\s'"\\]+)|(\s+)/g
  let word: string | null = null
  for (const [, single, double, escaped, bare, space] of command.matchAll(part)) {
    if (escaped === '\n') continue
    if (space !== undefined) {
      if (word !== null) words.push(word)
      word = null
      continue
    }
    word = (word ?? '') + (single ?? escaped ?? expanded(double ?? bare ?? '', variables))
  }
  return word === null ? words : [...words, word]
}

function expanded(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\\(["\\`$])|\$([A-Z_]+)/g, (_, escaped: string | undefined, name: string) => {
    const value = escaped ?? variables[name]
    if (value === undefined) throw new Error(`a sample uses $${name}, which no one sets`)
    return value
  })
}

/** The request that a curl command sends. Knows -X, -H, -d, -b and -c, and refuses what it does not know. */
export function curlRequest(command: string, variables: Readonly<Record<string, string>>, cookie: string): Request {
  const [program, ...words] = shellWords(command, variables)
  if (program !== 'curl') throw new Error(`not a curl command: ${command}`)
  const headers = new Headers()
  let url = ''
  let method: string | undefined
  let body: string | FormData | undefined
  while (words.length > 0) {
    const word = words.shift() ?? ''
    if (!word.startsWith('-')) {
      url = word
      continue
    }
    const value = words.shift() ?? ''
    if (word === '-X') method = value
    else if (word === '-d') body = value
    else if (word === '-F') {
      body = body instanceof FormData ? body : new FormData()
      addField(body, value)
    } else if (word === '-b') headers.set('cookie', cookie)
    else if (word === '-H')
      headers.append(value.slice(0, value.indexOf(':')), value.slice(value.indexOf(':') + 1).trim())
    else if (word !== '-c') throw new Error(`a sample uses curl ${word}`)
  }
  return new Request(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body !== undefined && { body }),
  })
}

/** `NAME=VALUE`, or `NAME=@FILE` for a file, which has a tenth of a second of silence. */
function addField(form: FormData, field: string): void {
  const [name, value] = [field.slice(0, field.indexOf('=')), field.slice(field.indexOf('=') + 1)]
  if (value.startsWith('@')) form.append(name, new File([SILENCE], value.slice(1)))
  else form.append(name, value)
}

/** 8 kHz, 8 bits, one channel. */
const SILENCE = Buffer.concat([
  Buffer.from('524946460000000057415645666d74201000000001000100401f0000401f00000100080064617461', 'hex'),
  Buffer.alloc(804, 0x80),
])

/** The example of a form as it is sent. */
export function formOf(example: object): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(example))
    addField(form, `${name}=${name === 'file' || name === 'image' ? '@' : ''}${value}`)
  return form
}
