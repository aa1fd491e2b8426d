package dialect

import "slices"

// Fingerprint is a Lua script that a library sends to its nodes. A node that
// knows the script has been used by the library; one that does not may have
// forgotten it, and other versions may send another.
type Fingerprint struct {
	SHA1 string
	// Libraries are those that send exactly this script.
	Libraries []string
}

// Libraries that lock with the help of another send its scripts.
var (
	withRedisPy   = []string{"redis-py", "django-redis", "celery-once", "redbeat"}
	withRedlockRB = []string{"redlock-rb", "activejob-uniqueness"}
)

var fingerprints = []Fingerprint{
	{"e950836ed1e694540c503ef9972b8de518044d3b", []string{"redsync"}}, // release
	{"d75bb8b5bd13532ddedd17762e772346e39b321e", []string{"redsync"}}, // extend
	{"b6b55c439e02c6f52ffb8be7ec8c0d0ac816ea79", []string{"redsync"}}, // extend, with SET NX
	{"00583931c4e4d483f6233879c133c71ed5393f9d", []string{"redsync"}}, // release, 4.9

	{"cf0e94b2e9ffc7e04395cf88f7583fc309985910", []string{"redislock"}}, // release, to 0.9
	{"a7aba3bc5d6e99b3003da8b9d80a63b9f4092ecf", []string{"redislock"}}, // refresh, to 0.9
	{"80a1b5f2cfccec3b7119ba7721d2127682b691a7", []string{"redislock"}}, // obtain, 0.9.4
	{"eb0c00d98f6f33b4262419a509002884540f30be", []string{"redislock"}}, // obtain, 0.10
	{"9470c810040e272ee6c579d8d4331aaf6332a7b1", []string{"redislock"}}, // release, 0.10

	{"3875d208d9e377969d2022550302cc83ad17b584", []string{"rueidislock"}}, // acquire until
	{"fa3d1aaa7e4145457755016a3d5daf72fa7a11bf", []string{"rueidislock"}}, // acquire for
	{"9eb62214c9af87ae5f9a9f12bb4520281c0d2ae1", []string{"rueidislock"}}, // delete
	{"852ba6ec6104340ced36643283c856d4698569e4", []string{"rueidislock"}}, // extend

	{"dbecad63894903ddf755d05d73a3eb7432ef75c0", []string{"go-zero"}}, // lock
	{"e04ea1352c46ae16a15753d4960bee821bf3b3fa", []string{"go-zero"}}, // delete
	{"08741c111900b6318ee3f60cb3c2fa1f6c74d859", []string{"dapr"}},    // unlock

	{"c3f8721cbb97f72bc19e972846bd7aaf91901658", withRedisPy},                   // release
	{"a4e8783852e6b949f9ef3a97212805108459a890", withRedisPy},                   // extend
	{"1cac51482acf5858da00f6d685d68f886cd6b6b2", withRedisPy},                   // reacquire
	{"90da91872223f85eb1376a17e3c4df21ace8c54b", []string{"python-redis-lock"}}, // unlock
	{"fed16109024d968d9496e4140fe1355bac05ebff", []string{"python-redis-lock"}}, // extend
	{"afbc8014508f92e446b56567e8ba600e811c1bd5", []string{"python-redis-lock"}}, // reset
	{"4e92fdc63815b3a0a2dd1c1df3694de73607c88d", []string{"redlock-py"}},        // unlock
	{"f5f7bd3a3aa4a63c507c1155c5ea1219b350d992", []string{"pottery"}},           // acquired
	{"ba015a80261b616e7a62d35df0b8e3edbe6c9414", []string{"pottery"}},           // extend
	{"a4aada0b36710970eedaaaeec4a6b7d8c78c4f80", []string{"pottery"}},           // release
	{"c75a9bf1538efcdb1f383acc3e273c5089d57e58", []string{"aioredlock"}},        // set
	{"241e4ca540a1cc4ec1f32d9eb9f879e607d7e6e5", []string{"aioredlock"}},        // unset

	{"e5a322e2634ef59a516e8ea150cb085afafee684", []string{"node-redlock"}}, // lock, 4
	{"0f0f23b9048b36752b5be114f357ba083449f908", []string{"node-redlock"}}, // unlock, 4
	{"ce46f80993d5dac20dd066eb301a4e37994bdbed", []string{"node-redlock"}}, // extend, 4
	{"96da70f7716f27d278a5218544df37fd8b0a5e4c", []string{"node-redlock"}}, // acquire, 5
	{"aed6f382e410db8ba7926d4e5e9aab410bf2a78a", []string{"node-redlock"}}, // extend, 5
	{"e4612211c9f8f51c257e26e056b0a654b3187242", []string{"node-redlock"}}, // release, 5

	{"8e4905cee18e7c3188d10f2b8b170e403baed34f", withRedlockRB},              // unlock
	{"ceb2b2062e40c51a2b3963fd078bc71f11bdc65c", withRedlockRB},              // lock
	{"78d2ca48a6dc9ef6892059792a3a0c5237733d64", withRedlockRB},              // remaining life
	{"5c252c1a0eaeeb4522fbbb982baba4e74ddfcd0d", []string{"elixir-redlock"}}, // unlock
	{"4196d8ada32b6e55d7d1b989bfe626215b911ac7", []string{"elixir-redlock"}}, // extend
	{"daf86bbf8740dd3ca86733367a016364b2110627", []string{"rslock"}},         // unlock
	{"17a49af0c4b1a9034503fa84f3570f5ca76c4cbf", []string{"rslock"}},         // extend
	{"647c65a442733a1aa440f99908d249d13b4d6c4a", []string{"laravel"}},        // release
	{"d5f94f1848f0c54fff99d99dbc4d54184a157c02", []string{"laravel"}},        // refresh
	{"9bdce90060b1eb1923ba581ffba7051865f063d7", []string{"php-redis-lock"}}, // release
	{"b414769872ec8518662b9f29e83fc691b0349f45", []string{"php-redis-lock"}}, // update

	{"149c5a8bf18676fd99e9e6e24923bd64d9b62f94", []string{"redisson"}}, // lock, 4.7
	{"6866459238a13a701d42f4971f12d9f3a50e2442", []string{"redisson"}}, // unlock, 4.7
	{"95553a6ff11176c18e71344e89d116b06fd6f753", []string{"redisson"}}, // read lock, 4.7
	{"6306ba3bf1f563b284bed52d305fce615c6664d9", []string{"redisson"}}, // write lock, 4.7
	{"46b5551ba403d6152a7a6eca122e08728d6c8c66", []string{"redisson"}}, // fenced lock, 4.7
}

// Fingerprints returns the scripts to ask a node for, with one SCRIPT EXISTS
// and their hashes in this order. That command reads nothing of the data, but
// users with few rights may not send it.
func Fingerprints() []Fingerprint { return slices.Clone(fingerprints) }

// Ran turns a node's answers about [Fingerprints], one for each in the same
// order, into what [Decoded.Narrow] asks. Answers that are missing say nothing.
func Ran(known []bool) func(library string) bool {
	var libraries []string
	for i, f := range fingerprints {
		if i < len(known) && known[i] {
			libraries = append(libraries, f.Libraries...)
		}
	}
	return func(library string) bool { return slices.Contains(libraries, library) }
}
