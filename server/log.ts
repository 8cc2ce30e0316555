import type { LogLevel } from './config'

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

export type Log = Readonly<Record<LogLevel, (message: string, fields?: Readonly<Record<string, unknown>>) => void>>

/** One line per event on stderr: time, level, message, fields as JSON. Whoever logs keeps secrets out of the fields. */
export function openLog(least: LogLevel, write: (line: string) => unknown = (line) => process.stderr.write(line)): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      if (ORDER.indexOf(level) < ORDER.indexOf(least)) return
      const more = Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''
      write(`${new Date().toISOString()} ${level} ${message}${more}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
