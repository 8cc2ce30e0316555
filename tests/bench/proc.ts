import { readdirSync, readFileSync } from 'node:fs'

/** Time on the processor so far, in microseconds: of all threads, and of the first one, which runs the JavaScript. */
export interface CpuTime {
  readonly process: number
  readonly main: number
}

/** From the schedstat of every task in /proc, which counts nanoseconds; zeros where there is none. */
export function cpuTime(pid: number): CpuTime {
  const times = tasks(pid).map((task) => ({ task, us: onCpuUs(`/proc/${pid}/task/${task}/schedstat`) }))
  return {
    process: times.reduce((sum, { us }) => sum + us, 0),
    main: times.find(({ task }) => task === String(pid))?.us ?? 0,
  }
}

/** Resident memory in MB (10^6 bytes). */
export function residentMb(pid: number): number {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return (Number(kib ?? 0) * 1024) / 1e6
}

function tasks(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

function onCpuUs(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[0]) / 1000
  } catch {
    return 0
  }
}
