-- The rules of dedup.py, judged inside Redis, where nothing comes between reading and writing.
-- The reasons for each rule stand there; a differential test holds the two together.
--
-- KEYS[1]  the record of one intent or one grant: a single key, so that any cluster slot serves it
-- ARGV     operation, clock override ('' for the server's clock), result TTL, and the operation's
--          own arguments; all times in ms, within what a double holds exactly
--
-- An intent's record is a hash of: v (version), fp, attempt, token, lease, invoked, result, keep;
-- without `result` there is none yet. A grant's: v, intent, keep. The key's expiry only frees
-- memory: `keep` is judged at every read.

local RECORD_VERSION = 1
local GRACE_MS = 600000
local FOREVER_MS = 9007199254740991
local EXPIRY_SLACK_MS = 1000 -- expiry reads another clock than TIME, and must not come first

local key = KEYS[1]
local operation = ARGV[1]
local result_ttl = tonumber(ARGV[3])

local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local version = tonumber(redis.call('HGET', key, 'v') or 0)
if version > RECORD_VERSION then
  return {'unreadable', version}
end

-- time ---------------------------------------------------------------------------------------

local function keep_until(record, until_ms)
  until_ms = math.min(until_ms, FOREVER_MS)
  if until_ms > record.keep then
    record.keep = until_ms
    redis.call('HSET', key, 'keep', until_ms)
    redis.call('PEXPIRE', key, until_ms - now + EXPIRY_SLACK_MS)
  end
end

local function keep_for_copy(record, expires)
  keep_until(record, math.max(now + result_ttl, expires + GRACE_MS))
end

local function forgotten(expires)
  return now >= expires + GRACE_MS
end

local function lease(record, lease_ms)
  record.lease = math.max(record.lease, now + lease_ms)
  redis.call('HSET', key, 'lease', record.lease)
  keep_until(record, record.lease)
end

-- records ------------------------------------------------------------------------------------

local function live_record()
  local f = redis.call('HMGET', key, 'fp', 'attempt', 'token', 'lease', 'invoked', 'result', 'keep')
  if not f[7] or now >= tonumber(f[7]) then
    return nil
  end
  return {
    fp = f[1], attempt = tonumber(f[2]), token = f[3], lease = tonumber(f[4]),
    invoked = f[5], result = f[6], keep = tonumber(f[7]),
  }
end

local function new_record(fp, attempt, token)
  if version > 0 then
    redis.call('DEL', key) -- an ended one, which is still there
  end
  redis.call('HSET', key, 'v', RECORD_VERSION, 'fp', fp, 'attempt', attempt, 'token', token,
    'lease', 0, 'invoked', '', 'keep', 0)
  return {fp = fp, attempt = attempt, token = token, lease = 0, invoked = '', result = false, keep = 0}
end

local function owned(record, token, attempt)
  return record and record.token == token and record.attempt == attempt
end

local function busy_ms(record)
  return record.token ~= '' and record.lease > now and record.lease - now
end

local function marked(record, attempt)
  return string.find(',' .. record.invoked .. ',', ',' .. attempt .. ',', 1, true)
end

local function claimed(record)
  local invoked_before = 0
  for attempt in string.gmatch(record.invoked, '%d+') do
    if tonumber(attempt) < record.attempt then
      invoked_before = 1
    end
  end
  return {'claimed', record.attempt, invoked_before}
end

-- operations ---------------------------------------------------------------------------------

local operations = {}

function operations.claim(record)
  local fp, token, lease_ms, expires = ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
  if not record then
    if expires <= now then
      return {'expired', forgotten(expires) and 1 or 0}
    end
    record = new_record(fp, 0, '')
  end
  keep_for_copy(record, expires)
  if record.fp ~= fp then
    if forgotten(expires) then
      return {'expired', 1}
    end
    return {'conflict', record.fp}
  end
  if record.result then
    return {'completed', record.result}
  end
  if record.token == token then
    lease(record, lease_ms)
    return claimed(record)
  end
  if busy_ms(record) then
    return {'busy', busy_ms(record)}
  end
  if expires <= now then
    return {'expired', 0}
  end
  record.attempt = record.attempt + 1
  redis.call('HSET', key, 'attempt', record.attempt, 'token', token)
  lease(record, lease_ms)
  return claimed(record)
end

function operations.mark_invoked(record)
  local token, attempt = ARGV[4], tonumber(ARGV[5])
  if not owned(record, token, attempt) or record.result then
    return 0
  end
  if not marked(record, attempt) then
    local marks = record.invoked == '' and attempt or record.invoked .. ',' .. attempt
    redis.call('HSET', key, 'invoked', marks)
  end
  return 1
end

function operations.renew(record)
  local token, attempt, lease_ms = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
  if not owned(record, token, attempt) then
    return 0
  end
  if not record.result then
    keep_until(record, now + result_ttl)
    lease(record, lease_ms)
  end
  return 1
end

function operations.complete(record)
  local token, attempt, fp, result = ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7]
  local expires = tonumber(ARGV[8])
  if forgotten(expires) and (not record or record.fp ~= fp) then
    return {'lost'}
  end
  if not record then
    record = new_record(fp, attempt, token)
  end
  if record.fp ~= fp then
    return {'conflict', record.fp}
  end
  if not owned(record, token, attempt) then
    return {'superseded', record.result}
  end
  if record.result then
    return {'stored', record.result}
  end
  redis.call('HSET', key, 'result', result)
  keep_for_copy(record, expires)
  return {'stored'} -- the caller has the bytes
end

function operations.record_refusal(record)
  local fp, if_never_claimed, if_claimed, expires = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
  local may_have_run
  if record then
    may_have_run = record.attempt > 0
  else
    may_have_run = forgotten(expires)
    record = new_record(fp, 0, '')
  end
  keep_for_copy(record, expires)
  if record.fp ~= fp then
    if forgotten(expires) then
      return {'completed', if_claimed}
    end
    return {'conflict', record.fp}
  end
  if record.result then
    return {'completed', record.result}
  end
  if busy_ms(record) then
    return {'busy', busy_ms(record)}
  end
  local chosen = may_have_run and if_claimed or if_never_claimed
  redis.call('HSET', key, 'token', '', 'lease', 0, 'result', chosen)
  return {'stored', may_have_run and 1 or 0}
end

function operations.release(record)
  local token, attempt = ARGV[4], tonumber(ARGV[5])
  if not owned(record, token, attempt) or record.result then
    return 0
  end
  local others = {}
  for mark in string.gmatch(record.invoked, '%d+') do
    if tonumber(mark) ~= attempt then
      table.insert(others, mark)
    end
  end
  redis.call('HSET', key, 'token', '', 'lease', 0, 'invoked', table.concat(others, ','))
  return 1
end

function operations.lookup(record)
  if not record then
    return false
  end
  return {'record', record.fp, record.attempt, record.token, record.lease, record.invoked,
    record.result, record.keep}
end

local function redeem()
  local intent, until_ms = ARGV[4], tonumber(ARGV[5])
  local f = redis.call('HMGET', key, 'intent', 'keep')
  local grant = {keep = tonumber(f[2] or 0)}
  if now >= grant.keep then
    if until_ms <= now then
      return 0
    end
    redis.call('HSET', key, 'v', RECORD_VERSION, 'intent', intent)
  elseif f[1] ~= intent then
    return 0
  end
  keep_until(grant, until_ms)
  return 1
end

if operation == 'redeem' then
  return redeem()
end
return operations[operation](live_record())
