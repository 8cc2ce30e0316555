const SETTING = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
const AT_ONCE = 16_384

/**
 * Lets this process send as many requests at once as it has callers. By default Bun sends 256 and queues the rest, so one upstream that
 * hangs would delay the requests to all others. Bun reads the number when it starts, so this process is replaced by one that has it
 * (same id, same arguments), unless the environment sets a number already.
 */
export function allowManyRequests(command: readonly string[]): void {
  const { env, execve, execPath } = process
  if (env[SETTING] || execve === undefined) return
  execve.call(process, execPath, [...command], { ...env, [SETTING]: String(AT_ONCE) } as Record<string, string>)
}
