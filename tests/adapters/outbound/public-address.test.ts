import { describe, expect, test } from 'bun:test'
import { isNeverAllowed, publicAddress } from '../../../server/adapters/outbound/public-address'
import { parseAddress } from '../../../server/core/credentials/address'

describe('an address given by a stranger', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '128.0.0.0',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001::200e',
    '2003::1',
  ])('%s is public', (text) => expect(publicAddress(text)).not.toBeNull())

  test.each([
    ['this network', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['private', '10.0.0.1'],
    ['private', '10.255.255.255'],
    ['carrier-grade NAT', '100.64.0.1'],
    ["Alibaba's metadata host", '100.100.100.200'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ["most clouds' metadata host", '169.254.169.254'],
    ["a container task's metadata host", '169.254.170.2'],
    ["Azure's platform host", '168.63.129.16'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ["Oracle's metadata host", '192.0.0.192'],
    ['private', '192.168.1.1'],
    ['documentation', '192.0.2.1'],
    ['6to4 relays', '192.88.99.1'],
    ['benchmarks', '198.18.0.1'],
    ['benchmarks', '198.19.255.255'],
    ['documentation', '198.51.100.7'],
    ['documentation', '203.0.113.7'],
    ['multicast', '224.0.0.1'],
    ['multicast', '239.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped, in hex', '::ffff:7f00:1'],
    ['mapped, of a public address', '::ffff:8.8.8.8'],
    ['compatible', '::127.0.0.1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['NAT64, of a public address', '64:ff9b::808:808'],
    ['local NAT64', '64:ff9b:1::1'],
    ['discard only', '100::1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['ORCHID', '2001:20::1'],
    ['documentation', '2001:db8::1'],
    ['6to4 of loopback', '2002:7f00:1::'],
    ['documentation', '3fff::1'],
    ['unique local', 'fc00::1'],
    ["Amazon's metadata host", 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['segment routing', '5f00::1'],
  ])('%s: %s is not public', (_, text) => expect(publicAddress(text)).toBeNull())

  test.each(['', 'localhost', '1.2.3', '01.2.3.4', '256.1.1.1', 'fe80::1%eth0', '2606:4700::1%0', ':::'])(
    'what is not a plain IP address is not public: %p',
    (text) => expect(publicAddress(text)).toBeNull(),
  )
})

describe('where the operator allows private addresses', () => {
  const isClosed = (text: string) => {
    const address = parseAddress(text)
    return address !== null && isNeverAllowed(address)
  }

  test.each([
    '169.254.169.254',
    '169.254.170.2',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fe80::a9fe:a9fe',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    '::ffff:169.254.169.254',
    '::169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '0.0.0.0',
    '255.255.255.255',
  ])('%s stays closed: it answers with credentials of the machine', (text) => expect(isClosed(text)).toBe(true))

  test.each(['10.0.0.1', '127.0.0.1', '::1', 'fd00::1', '192.168.1.1'])('%s may be allowed', (text) =>
    expect(isClosed(text)).toBe(false),
  )
})
