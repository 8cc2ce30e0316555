import type { FuzzReport } from './fuzz-run'

/** The report as lines to read. */
export function reportLines(report: FuzzReport): string[] {
  const outcomes = [...report.outcomes].toSorted(([a], [b]) => a.localeCompare(b))
  return [
    `seed                  ${report.seed}`,
    `requests              ${report.requests} in ${report.seconds.toFixed(1)} s`,
    ...outcomes.map(([outcome, count]) => `  ${outcome.padEnd(19)} ${count}`),
    `X-Cost-Micros-USD     ${report.seenMicros} seen, ${report.spentMicros} gone from the balances`,
    `charges in the ledger ${report.ledger.charges} of ${report.ledger.chargedMicros} micro-USD in all`,
    `sums that do not fit  ${report.ledger.problems.length}`,
    `ready at the end      ${report.isReady}, exit code ${report.exitCode}`,
    `memory (RSS)          ${report.rssBeforeMib} MiB before, ${report.rssAfterMib} MiB after`,
    `problems              ${report.problemCount}`,
    ...report.problems.map((problem) => `  ${problem}`),
    ...report.ledger.problems.map((problem) => `  ${problem}`),
  ]
}
