/** The chains that x402 version 1 names, by their names. Its clients refuse offers with any other name. */
const CHAINS: ReadonlyMap<string, number> = new Map([
  ['abstract', 2741],
  ['abstract-testnet', 11124],
  ['avalanche', 43114],
  ['avalanche-fuji', 43113],
  ['base', 8453],
  ['base-sepolia', 84532],
  ['educhain', 41923],
  ['ethereum', 1],
  ['iotex', 4689],
  ['peaq', 3338],
  ['polygon', 137],
  ['polygon-amoy', 80002],
  ['sei', 1329],
  ['sei-testnet', 1328],
  ['sepolia', 11155111],
  ['skale-base-sepolia', 324705682],
  ['story', 1514],
])
const NAMES: ReadonlyMap<number, string> = new Map([...CHAINS].map(([name, chainId]) => [chainId, name]))

/** The chain that version 1 means by a name; null for an unknown one. */
export function chainInV1(network: string): number | null {
  return CHAINS.get(network) ?? null
}

/** How version 1 names a chain; null when it cannot. */
export function networkInV1(chainId: number): string | null {
  return NAMES.get(chainId) ?? null
}
