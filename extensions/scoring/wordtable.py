"""How common the common words are: data for `background`, and nothing else.

`ENGLISH` holds stems by the share p of pages that have them, `CHINESE` words likewise; the key is −2·log₂ p, rounded, so that a word at 4 is on every fourth page,
one at 13 on one page in ninety. The English shares were counted on documentation and project pages of some two hundred sites, each site
counting the same, so no site's own words look common; the Chinese ones come from word counts of general text, for pages of 300 words.
"""

from __future__ import annotations

ENGLISH = {
    1: """
        document use
    """,
    2: """
        add code creat data default exampl file follow function get includ list name new note one option return see set sourc support type valu
        version
    """,
    3: """
        addit allow api argument avail base c call case chang check class configur contain content current defin detail differ e error except
        first generat given implement import index inform like line make method modul need next number object oper page paramet possibl process
        provid read refer requir result run specif specifi start string system test time true two user way work x
    """,
    4: """
        access alway anoth appli applic attribut automat b build command common complet control copi depend describ descript develop direct
        enabl end even execut exist fals featur field find form format found full g general handl help indic initi input instal instanc instead
        int interfac internal issu key last level librari limit local look main manag mani match mean messag modifi multipl n non none normal
        now open order org otherw output packag part pass path perform point previous print program project python relat releas remov request
        second section separ show similar simpl singl size standard store tabl take text tri updat valid variabl want well write
    """,
    5: """
        accept actual address alreadi altern appropri array associ assum author avoid back basic begin behavior binari bit block bug built byte
        caus charact client close collect com compat compil comput connect consid consist context continu convert copyright correct correspond
        count custom d definit delet design determin directori disabl display distribut doc done effect element empti encod ensur entri environ
        equal event everi expect explicit express extend extens f fail final fix flag give global go group h header home http https id identifi
        ignor info integ item keep know known languag larg later length licens link load locat log long m made manual map memori mode much
        necessari occur origin overrid pars particular place pleas posit present problem produc properti public r rais rang reason receiv
        recommend replac report repres respect respons right script search select send server sever share softwar space special state static
        status step still structur syntax term three tool top typic usag usual util various warn window written zero
    """,
    6: """
        abl accord action activ affect algorithm along apach appear append arg around ask assign attempt becom best better bind boolean break
        buffer cach care certain choos clear column combin come comment compar complex compon condit config constant construct constructor
        contribut core databas date debug declar def deprec detect doubl download drop due dynam easi edit entir equival exact exit extern extra
        failur filenam filter float forc forward free fulli futur github good guid happen high hold host html ident imag immedi improv individu
        inherit init insert insid instruct integr intend interact interpret introduc invalid invok iter keyword kind lead least left less let
        linux longer lower machin mail maintain mark max maximum mechan member miss model move network never node null numer o obtain often old
        optim p pair pattern platform port power prefer prefix prevent product proper protocol purpos put py queri re real record regist regular
        remain represent resourc restrict retriev root rule runtim save secur self sequenc servic setup short side sign simpli small someth
        sometim sort statement stop str stream style success summari sure switch symbol tag target task termin therefor thing thread togeth
        track tree turn uniqu unit url v view void wait web word www y
    """,
    7: """
        absolut abstract account across advanc alia alloc although amount anyth approach arbitrari assert attach authent auto backend backward
        bar bodi bool bound calcul capabl channel chapter char choic clean color commit communic communiti comparison compress concept const
        contributor conveni convers cours cover creation deriv desir dev devic dict dictionari dir discuss domain earlier easier easili effici
        engin enough enter especi evalu everyth expand explain export extract fact fast fill finish fit foo foundat generic greater guarante
        hand handler hard hash higher idea impli implicit increas increment independ interest introduct involv io ip j java join json k l label
        larger latest leav lib logic lookup loop lot low major merg metadata min minim minimum multi namespac nativ negat nest net noth notic
        notifi offer older omit os other outsid overview param parent parser partial patch permiss plain pointer polici post potenti practic pre
        preced prev primari privat probabl protect question quick quot random raw realli recent reduc relev remot render repeat repositori
        reserv reset resolv rest revers row safe sampl say scheme scope semant sent seri serial serv session shell shown signal signatur
        signific site situat skip solut sphinx split stabl stack storag strict struct sub subclass subject subsequ suggest suppli taken tell
        templat thank third timeout token total transform translat treat tupl u under understand unicod unix unlik var verifi virtual visibl w
        whenev whole wide wish world wrap wrapper z
    """,
    8: """
        abil abort achiev act adjust administr advantag alabast alias almost alter among annot answer app architectur archiv area ascii atom
        awar background bad basi behav belong big bin book box branch browser callabl callback categori chain child chosen chunk click clone
        cluster comma concurr conf conflict confus consider consol constraint consum contact convent cross day deal debian decid decod deploy
        depth destin digit discard disk distinct dot doxygen driver dump duplic email embed emit en encount enforc enhanc entiti enum env escap
        essenti establish exclud experiment expos factor faq far faster fetch figur fine flexibl four frame framework frequent func git gnu goe
        grant graph great head hello helper hide hint histori hook illustr incorrect inlin inspect interval job kept kernel kwarg lang latter
        layer layout learn len listen liter littl live lock logo mac macro manipul master matter measur mention meta minor mix modif monitor
        natur navig newer offici offset ok op organiz overridden parallel parti password peopl period permit persist plan plugin plus precis
        prepar preserv pretti prior procedur profil progress prompt proxi publish pull pure push q queue reach readabl reader readi recogn
        recurs redirect referenc reflect regardless reli rememb renam resolut restor rfc round rout scale schema seem seen sens simplifi slight
        smaller socket speed sql src statist std strong submit subset substitut suffici suffix suit suitabl sum suppos synchron sys tab
        temporari think throw timestamp titl topic trace transact transfer trigger tutori txt undefin union unknown unsign upgrad upper usr utf
        vari variant vector whatev width wrong xml year yes yield
    """,
    9: """
        ab accomplish acknowledg adapt agent aggreg align alon alpha analysi anywher approxim arithmet aspect async asynchron attr auth away
        batch behind benefit beyond blank bottom boundari bracket broken bsd builtin busi caller cancel captur carri cast catch cd center
        central certif changelog claus cleanup complic compos concaten concern concret conform consequ coordin cost counter cpu crash critic
        cursor cycl daemon dataset db de decim decis decor delay delimit demonstr descriptor destroy difficult dimens discov distinguish divid
        dns draw durat earli echo edg editor effort enclos encourag encrypt enumer eq err estim eventu ever examin exceed exchang exclus expans
        experi expir explan ext extrem facil factori fair fall famili familiar filesystem flow flush focus font fork former friend front garbag
        goal got graphic guidelin half hardwar henc hidden hierarchi highlight hope hostnam hour human inc inclus incom incompat indent indirect
        instanti intent intermedi internet interrupt invoc iso javascript lack launch legaci legal letter light linear localhost lost maco man
        manner mask materi math matrix meant menu migrat mind minut modern most msg near necessarili newli newlin nice notat num numpi obj
        observ obvious onlin opt overhead overwrit owner packet partit past pdf perhap person phase physic pick piec pip pool pop popul portabl
        portion presenc primit prioriti proceed processor programm propag propos pypi qualifi qualiti rare red ref regard regex reject
        relationship reliabl respond restart retain retri reus review rewrit role routin satisfi scalar scan scenario schedul screen segment
        sensit shape shift shutdown silent slice slow solv somewhat soon spec squar ssl stage stand startup stat stderr stdout strategi strip
        subdirectori succeed suppress sync synopsi talk tcp team technic techniqu theme tip tls tmp toggl tostr traceback tracker tradit traffic
        trail transit transpar transport truncat trust twice typedef unchang underscor unexpect unfortun unus uri usernam varieti verbos visual
        vs websit weight welcom wherea whitespac wiki worker writer zip
    """,
    10: """
        abc accident accur acquir admin adviz afterward age aim aliv alphabet ambigu analyz announc anonym anyway appendix aris arriv assumpt
        attack attent autom averag axi backup balanc believ benchmark black blog boot brief bring builder bundl button ca candid cat catalog
        caution cc cell chanc characterist charset children circumst cmd co col colon compact compliant composit confirm conjunct consult
        contrast cooki corrupt coupl coverag credenti credit criteria css csv cut dark datatyp datetim debugg decreas dedic deep defer degre del
        deleg deliv demand demo deni denot descend diagnost diagram diff dimension disconnect dispatch distanc divis django docstr donat drive
        elimin elsewher encapsul endif endpoint eval exec expens explor expr face fallback favor feed feedback feel fewer five folder foreign
        forget formal fraction fragment furthermor gain gather gcc getclass googl grow gtk guess gzip hashcod height hex hexadecim highest
        histor hit horizont ideal idl immut impact imposs inconsist infer infinit influenc infrastructur inner insensit invers isol januari js
        jump kill knowledg lambda leak life lifetim loader logger login lose loss magic mainten mandatori marker mathemat mayb media meet mere
        metric microsoft middl millisecond mirror miscellan mod moment month ms multipli mutabl news notabl notif notifyal occurr odd opaqu
        openssl operand oppos ordinari orient outer outlin overal overflow overlap overload own pack pad paper paragraph parenthes particip
        pathnam pend pep percent perfect perl perman pipe pixel play plot png popular pos posix predic prepend press primarili principl privileg
        proc ptr quit rank rate ratio readm recov redistribut redund refus region registri regress reload repli repo repr reproduc revert revis
        risk robust rotat rough rst safeti said secondari secret seek selector sequenti serious sh ship shortcut sidebar simpler simplest simul
        simultan sizeof slash slot slower someon somewher span sqrt ssh standalon stay stdin stuff subscrib summar super swap tar temporarili
        tend threshold throughout thrown tie timer toler touch toward trademark travers trivial tune udp unabl uniform unnecessari unpack unsaf
        unset unspecifi unsupport upload upstream usabl utc val valueerror verif vertic violat visit volum warranti watch weak white wildcard
        workaround worth zlib zone
    """,
    11: """
        abbrevi abi accessor accumul accuraci ad addr adjac adopt advic agre ahead aid al algebra analog angl ansi anymor anyon apart appar appl
        approv april arch argv arm arrang articl assembl assist await backslash bare bash besid beta bitmap blob blue board brace broadcast
        brows bugfix bulk bypass came canon capac capit caveat cert cf checker checkout checksum ci cipher claim classic classifi classmethod
        cli clock closur cls collector commerci compani complianc compound comprehens compriz consecut constrain contract corner cp cpp cpython
        crypto ctrl ctx cur curv cython danger dash david dd deliveri delta despit dest destructor differenti digest disallow dist div draft
        driven ds dtype eas easiest ed emb employ emul english eof equat et everyon ex exc excel exerc exhaust exp exploit extent facilit
        fashion fatal fd feather flavor fli fn forev formatt fortran fourth fr frequenc fresh fs ftp fundament gap gc govern gpl grace grammar
        green grid guard gui gz hack handi heap held hierarch huge hundr hyphen icon idx ifndef imagin implic impos incomplet incorpor inde inf
        inject internation intersect invert irc john juli june keyboard keyerror largest late latenc lazi lexer likew llvm lowercas lowest ls lt
        makefil march margin markup matric maxim meaning medium met mime minus mismatch mistak mit mm moreov mount mous mozilla mutual mysql nan
        ne negoti neighbor nil nonzero notebook notion np ns obsolet occasion octob opposit overwritten ownership panda paste payload peer
        percentag php pi pid pipelin pkg placehold poll poor postgresql postscript pp preciz predefin predict princip printf privaci problemat
        promot prototyp ps pseudo pub pytest queu quiet readlin realiz rebuild recip recoveri redefin refactor refresh registr remaind replic
        req res research resid resiz resum rewritten roll router runner scalabl sec seed sender sep seq serializ setuptool shorter shut six
        sleep smallest smart snapshot snippet soft sole spars speak sponsor sqlite st stabil straight straightforward subscript substanti substr
        subtl subtract sun surfac surpriz surround svn symmetr synonym syntact tail tarbal technolog ten textual th theori thought thousand
        timezon today todo took trait transmit trick troubl troubleshoot tweak typeerror ubuntu ultim un unavail understood unifi universal
        uppercas uuid variat vendor versa vice vm vulner walk week wheel win workflow worri writabl xxx yaml
    """,
    12: """
        absenc absent ac acceler accommod accompani ack acl advert agreement alert alongsid alt analyt ancestor anchor anti apt arbitrarili
        arrow artifact asf asid ast asyncio augment august axe backport bandwidth basenam baz becam bigger bold bootstrap border bridg broad buf
        bus cap card categor caught cfg ch challeng circl cite clang clarifi classif closer cloud codebas codec coeffici coerc collabor collat
        collis committ complement compli con conceptu cond conduct conn consumpt contigu contrib cooper coroutin corpor correl cos counterpart
        countri cpus cr cryptograph cs curl damag daniel datafram dead dealloc dec decemb decompress decrement decrypt deflat degrad dens desc
        destruct detach determinist devel deviat df dialog die dim disadvantag disappear discourag discret distutil dll dos downstream drawn dst
        dt dummi edu eg egg eight elaps elif endian epoch eras errno erron es everywher excess exe expert expon exponenti fault februari fi
        finer finit fire firewal flask flat floor fmt fold forbid formula forth fortun fp freebsd freed freedom freeli freetyp freez frontend
        frozen fun gamma gateway gen getattr getitem glob glossari glyph gone goto grab grain granular gray greatest grep gt hadoop handshak
        hang happi harder hat heavi heavili heurist hi hmac holder homepag honor href hyperlink identif ie ieee ietf ifdef ii illeg img impl
        inact indefinit inequ infin ini insecur inspir instrument intel intens inter intercept interchang interfer internat interoper interpol
        introspect intuit invari ipython isinst jan jar jdk jit journal jpeg jul jupyt kb kw latex latin le led lexic lf lie lightweight loc
        longest loos malform malloc manifest markdown matplotlib mb mem merchant michael million misc mitig mkdir modulo motiv mpi mul multipart
        mutat mutex namedtupl narrow nearest nevertheless norm notimplementederror nov novemb occupi octet offlin oldest onward opportun oracl
        orig outgo panel parenthesi passiv paul paus pay pc pem perspect phrase pickl pictur pin ping placement plug polygon pr pragma
        preprocessor prerequisit presum price printabl printer probe profit programmat prohibit promiz proport proto prove provis purg quantiti
        quickstart race ram ran rand ration rb rc recal recipi recompil reconfigur recreat reduct regexp rel relax reorder repetit repl ret
        reviz rgb rich rm robert rollback room rpc rubi runtimeerror salt scientif scipi score scratch scroll se semi semicolon sensibl sentenc
        septemb setter sha shadow shorthand sig simplic sin smooth sock solari sound sourceforg sp spawn spell spent spread stale stdio stick
        strang stub studi stylesheet submiss subprocess subsect subsystem subtyp sudo suffer surviv suspend svg symlink systemd temp terminolog
        therebi thoma throughput ticket tiff told toolkit topolog tr train transmiss trap treatment tricki trim trip tripl ts tti ttl twist
        typenam typo ui uid unari unbound uncondit undesir undo undocu uniniti universiti unlimit unlock unmodifi unregist unrel unusu useless
        van vast verbatim versus video viewer vote wast websocket went wherev widget wikipedia wire wise workload wors wrote wsgi xyz zookeep
    """,
    13: """
        aa adher ago aka alphanumer anim art ascend assur asterisk attributeerror band barrier bewar bigint bitwiz bob boost borrow br briefli
        bunch cassandra ceil classnam closest cmake cmp complain comprom concat conclus confid connector consensus conserv constitut
        cryptographi ctype daili dask deliber denial deseri desktop diag diagon discoveri dnssec doctest dom drawback dual dup emac enterpr eric
        europ evolv feb fingerprint flatten footnot foreground fund gave gb ge generous gevent gif health hole ibm ide incub indexerror ineffici
        inet inher insight instant insuffici investig invis jame javadoc land law ld leaf li lineno linker ll lo machineri mar martin mass md
        membership mid middlewar mike mobil mon monoton multithread music nb oct octal ongo palett parameter pd permut peter pl plane postgr
        prime proof prop proven prune rapid rational reachabl reboot reconstruct rectangl refin regener remark replay resort resp reveal rfcs
        rhs ring rpm safer saw scienc singleton smtp somehow sophist spend spot ss startswith stdlib stem stori strength stress studio subnet
        subvers supersed syslog tcl thin throttl tick tight timedelta tini tom trade transpos truli trunk tunnel uncompress unittest unstabl
        unwant virtualenv weakref wonder worst xor xslt xx yyyi
    """,
}

CHINESE = {
    1: """
        人 年
    """,
    2: """
        中国 后 大 月 道
    """,
    3: """
        出 国家 多 好 日
    """,
    4: """
        主要 便 全国 内 前 却 发展 地方 小 工作 想 新 经济 见 走 起 进行 问题 高
    """,
    5: """
        三 不能 世界 两 事 人民 代表 企业 公司 决定 分 副 北京 历史 叫 号 吃 听 地区 外 天 天安门 家 市 开始 情况 成 成为 打 技术 文化 时间 本
        正 湖北 现在 生产 知道 研究 社会 笑 米 美国 老 至 话 起来 重要 长 门 问
    """,
    6: """
        一定 一般 万 不同 两个 中心 之间 二 产品 人们 人口 人民代表大会 今 以上 会议 住 作 作为 使用 元 先 党 共 关系 具有 军 出来 出现 包括 区
        南 占 县 参加 发现 发生 受 另 名 回 因 国 国际 城市 处 头 女 委员会 学生 学院 属 山 工业 市场 带 建立 建设 开 张 形成 影响 心 总 手 政府
        政治 教育 方面 日本 曾 机关 武汉 武汉市 死 段 水 法 法律 活动 点 生 生活 省 石首 称 站 第 管理 约 组织 要求 规定 认为 记者 许多 请 路 较
        达 进 连 部分 间 面积 领导
    """,
    7: """
        一切 一声 一次 一直 一起 上海 下来 不会 专业 世纪 东 东西 中央 主席 举行 之一 书 五 些 产生 人员 亿元 今天 仍 价值 任 位 低 作用 倒 入
        全 兵 写 军事 农业 准备 分别 制度 北 单位 原 发 口 台 各级 四 国务院 均 城 基本 基础 增加 增长 声 大学 如此 子 字 存在 学 学校 孩子 完全
        完成 定 少 州 工程 干 强 当时 往 得到 快 我国 所有 找 报告 拿 按 据 提供 提出 提高 改革 政体 方式 方法 旅游 既 时期 明 最后 最大 有些
        有关 未 机构 杀 条件 杨 次 民族 气 派 清 湖北省 特别 王 环境 理论 百科 皇帝 目前 直 相 真 种 科技 第一 系统 组成 经 经过 编辑 美 群众
        职业 能力 自然 获得 行 行政 表现 表示 西 觉得 计划 设 说道 资源 越 身 边 过去 过程 运动 近 还有 这么 进入 那么 部门 重 钱 长江 除 难 非
        革命 马 鱼
    """,
    8: """
        一点 不仅 不到 不敢 不断 不知 不要 专家 个人 丰富 为主 主 主任 么 乡 了解 事情 于是 交通 人大 人民政府 仅 价格 任何 任务 众 传统 位于
        保护 信 信息 儿 先生 先进 光 全省 全部 公民 公里 其实 内容 军队 农村 农民 几个 分布 分析 初 利用 别 制 制定 剑 加 加强 动 劳动 原因 原来
        反 取 取得 受到 变 变化 可是 合作 后来 告诉 命 咱们 回来 国内 图 土地 地位 场 坐 型 基地 处理 学习 完 官 实现 实行 实际 岁 左 左右 师
        希望 常 平 年代 府 建 建筑 式 引起 当然 形式 很多 心中 怕 思想 急 性 意 成立 战争 执行 批准 投资 报 拉 指 控制 支持 放 政策 教 整个 新闻
        方 早 明白 最高 有人 服务 望 朝 期间 权力 条 极 每年 比赛 水平 河 法国 涓 湖 热 爱 甚 甚么 甚至 电 白 百度 目标 直接 相关 看到 眼睛 知
        石 社会主义 神 科学 称为 穿 突然 竟 管 类 精神 紝 红 结构 结果 统一 统治 继续 置 自治区 艺术 花 英国 范围 荆州 虽 襄阳 规模 解决 讲 设计
        负责 资本 超过 跑 身上 转 达到 这时 远 送 选举 选择 部 部队 采用 重大 重点 金 铁路 锛 镇 队 集团 面 项目 风 黄 黑
    """,
    9: """
        一位 一句 一天 一年 一条 一阵 七 三个 下去 不可 不少 专门 业务 严重 中华人民共和国 中学 久 之中 九 书记 买 乱 事业 二人 亦 产业 亲 人家
        人才 人数 人民代表大会常务委员会 人物 人类 今年 今日 介绍 仍然 从而 令 以下 以来 众人 传 似 似乎 位置 体 体系 余 作出 作品 作战 供 保持
        保证 儿子 兄弟 先后 全国人民代表大会 全面 公路 六 共同 具体 兼 冲 几乎 出去 出口 刀 分为 刚 利益 别人 力 力量 办 办法 功能 动物 努力 十
        半 印度 却是 原则 双 反对 反应 发布 发表 发言人 古 古代 只见 召开 台湾 史 右 合 同志 同样 吴 呈 周 命令 和平 商品 喜欢 喝 回答 困难
        国民党 土 地理 坚持 城邦 声音 大会 大道 大量 女人 如今 姑娘 委员 安 安全 安排 完善 官员 实施 实际上 宣布 宪法 家庭 容易 宽 导弹 小时 尽
        居 展开 工人 巨大 市长 师父 帮助 干部 平均 平民 广泛 应用 座 建议 开发 开放 当年 形 待 很大 德 德国 心里 必 忙 忽 忽然 性质 总理 恢复 情
        惊 意义 意见 感到 感觉 成功 战 战略 所谓 扩大 找到 承 报道 拥有 指出 指导 指挥 掉 掌 接 接受 措施 提 搞 收 收入 改 改变 故 敌人 敢 数 文
        斗争 断 方向 无法 时代 明显 是否 曰 更加 朋友 本级 机会 机场 权利 李 材料 村 来到 来说 林 标准 根本 桥 植物 欧洲 正式 正是 此时 武功
        武器 母亲 毛 毛泽东 民主 汉 汽车 治疗 法规 注意 活 流 海 消息 深 清楚 满 火 父亲 物 物质 特 特点 特色 状态 独立 率 现 现代 现象 用于
        电子 电话 病 皇上 监督 目的 直辖市 相同 看见 真正 眼 瞧 知识 破 离 离开 积极 程度 稳定 立 第二 算 系 级 线 终于 经验 结合 结束 综合 网络
        罢 群 考虑 考试 而是 联合 联系 股 股东 背 胜利 脸 脸上 自由 船 茶 药 获 菜 落 著名 藏 行业 行为 行动 街 言 认识 训练 设备 设立 词条 语言
        说明 说话 调 调整 调查 象 货币 质量 资料 越来越 足 跳 身体 车 辖 迅速 过来 这位 这次 进一步 逐渐 通 通常 速度 造成 郡 鄂 酒 采取 重新 量
        铁 银行 长期 阶段 附近 随 随着 集中 需 青年 靠 面前 韦小宝 顶 项 领域 飞 飞机 首 首先 香港 龙
    """,
    10: """
        一中 一件 一只 一场 一块 一家 一座 一张 一时 一步 一片 一眼 一级 一致 一边 一面 万元 三年 不了 不再 不得 不足 世 东北 东部 两种
        中国共产党 中间 主张 举 义 之下 之外 也许 事件 事务 云 亚 亚洲 交 产 产量 京 人士 人民法院 从事 从此 代 以为 件 任期 优势 伤 体制 体现
        体育 何 便是 促进 俄 俄罗斯 保障 修 值 停 健康 儿童 充分 克 全体 全国人大 全国人大常委会 全国人民代表大会常务委员会 全市 八 公 公元 公布
        关 关键 具 内部 决议 减少 凡 凭 出版 分子 分配 分钟 列 刘 刚才 创作 创造 到底 制造 刺 剉 功 加上 化 化学 区域 医院 单 卖 南京 南北 南部
        厂 压力 去年 参与 又称 双方 反映 发出 发挥 发达 变成 句 只好 只能 各个 各国 各地 同意 名字 名称 吨 含 听说 员 周围 品种 响 哪里 哭 商业
        善 喜 嘴 回到 回去 因素 因而 团 图片 地面 坐在 块 培养 境内 墓 墙 处于 复 复杂 外交部 外国 多年 多次 多种 大型 大小 大臣 大陆 天下
        天安门城楼 天安门广场 夫人 奔 女儿 女子 好像 妇女 始终 姓 媒体 守 宗教 宜昌 实 实在 实践 实验 宫 家里 对方 寺 导致 封 封建 将军 小说 尚
        尤其 就业 尽管 层 居民 届 属于 岗 岛 差 帝国主义 带来 帮 常委会 平原 平方千米 广场 广州 底 建成 开展 弄 引 弟子 强调 归 当地 形势 往往
        心想 心理 怎 怪 总是 总统 想到 意思 感 愿 愿意 成绩 成长 战斗 房 手中 手段 抓 投 投入 抢 抱 担任 拍 拜 挂 换 掌握 接着 推 攻 放在 政权
        故事 敌 救 教师 教授 散 数学 数量 文学 文明 文章 斗 方案 既然 旧 明确 是不是 显示 晚 晚上 普通 普遍 暖 最终 最近 有效 有时 有限公司 期
        木 未来 末 本报 本来 本身 朱 机 机械 权 李自成 来自 构成 枪 架 树 样子 根 检察院 检查 楼 欲 正常 正确 殑 殿 每天 比例 毕业 毫米 民 气候
        求 江 油 治 洞 浜 海军 海拔 港 游 爱国 父母 片 牛 特征 特殊 状 状况 现代化 球 理 理解 生命 生物 生长 用户 田 男 男人 画 界 留 留下 皆 皮
        目 相互 相信 相对 相当 省级 看来 看看 看着 真是 真的 睡 矛盾 短 石首市 研制 确定 确实 礼 社区 科 秘书长 程序 空 空军 空间 立刻 立即 竞争
        竟然 章 端 第一次 简单 类似 类型 粮食 紧 紫 细胞 经常 经营 统计 维护 网 美元 老师 考 考生 职 职权 肉 股份 肯定 胜 脚 臣 自治州 至少 航空
        良好 色 苏联 若干 英 英雄 草 营 著 蒙古 血 行使 表 装 装备 西北 西南 西方 西部 见到 规划 觉 解 解释 计算机 讨论 记 论 证明 词 诗 诸 读
        谈 贡献 财产 财政 责任 质 贵族 贸易 资金 身子 身边 轻 较大 运 运输 还要 进攻 进来 连续 追 退 适应 适当 选 道路 遗址 邦 部长 里面 重视
        金融 銆 鐨 铜 银 铺 销售 错 错误 长安 问道 队伍 阿 陈 降 院 院长 难以 难道 集 需求 青 面对 音乐 领 颇 题 食 食品 饭 香 驻 骂 高兴 高度
        高级 高速
    """,
    11: """
        一半 一口 一名 一带 一批 一把 一支 一旦 一段 一系列 一道 一部分 一页 万吨 丈夫 上来 上述 上面 下午 下降 下面 不久 不但 不好 不必 不想
        不禁 不管 不肯 不错 专 业 东南 东方 两侧 两次 严格 中共中央 中部 临时 主人 主持 乃 乘 习惯 争 争取 事实 事物 互相 五年 交易 交流 产值 亮
        亲自 人大代表 人大常委会 人生 亿 仙 令人 令狐冲 任免 份 伊朗 休息 众多 优秀 伟大 传播 估计 伸手 似的 作者 依 依据 保 修改 倍 倘若 借 假
        偏 停止 僧 僭 元年 充满 全球 公元前 公共 公园 公开 关注 兴 兴趣 其余 具备 再也 再次 冒 决 冷 几天 几年 出发 出席 击 划分 列为 刚刚 创新
        判断 利 利润 别的 制作 前提 前面 办公室 功夫 加以 加入 加工 势 势力 包 化工 北平 北方 北部 区别 医生 千米 升 华 协议 协调 卒 卫生 危机
        危险 卷 厅 厉害 压 厘米 厚 原料 及时 双手 发动 发射 发布会 发育 变得 叫做 召集 叶 司 叹 各自 各项 合理 同学 后面 吓 听到 听见 吸收 吹 呆
        味 和尚 咨询 咱 哥 哥哥 哩 哲学 唐 唯一 唱 商 喊 器 四个 四大 四川 团体 团结 围 固定 国外 国民 国民经济 圆 圣 在于 地上 地下 地方性 地球
        坏 坛 坦克 垸 城楼 培训 堂 境 增强 夏 夏天 外交 外面 多数 夜 够 大事 大声 大学生 大明 大约 大规模 大部分 天津 天然 天门 太庙 太监 太阳
        夫 失去 失败 奇 奇怪 奉 奏 套 女性 奴隶 妈 妈妈 妻子 姊 始 委员长 威胁 娘 存 孙 学者 宋 完整 宝 宝玉 实力 审判 审议 客 客户 宣传 室 宫廷
        密 密切 寡头 寨 对外 对手 对象 寻找 射 小姐 小龙 少年 少数 尔 尚书 尚未 局 山东 山地 屽 岂 工 工具 工资 左手 已有 巴 布 常务 常常 平等
        平衡 年均 年底 年轻 年间 年龄 并非 广 广东 广大 庙 度 张居正 弦 弹 强大 强烈 当下 录取 形象 彻底 很快 御 微 必然 必要 忌 志愿 忘 快速 念
        态度 怒 性命 性能 恨 患者 情绪 想起 意大利 意识 感情 慢慢 懂 成分 成员 成本 成果 戴 户 手机 手里 扑 打击 打开 批 承担 承认 抓住 投票
        抗日 折 抬 担心 招 招生 招聘 持 持续 挥 排 推出 推动 推荐 推进 插 搜狐 摆 摸 撞 撤销 支 改为 改善 改造 攻击 放心 故道 效果 教学 数字
        数据 整体 文件 文字 文物 斯 新华社 方针 旁 族 无论 日子 日常 早已 明代 明朝 易 星 春 昨天 是从 显 显得 显然 更新 更是 替 最早 有所 朝廷
        朝鲜 本人 本行政区域 机制 机器 村委会 条例 条约 来源 来看 板 极大 果 果然 校名 校长 核 核心 格 桃花 检察长 森林 楚 概念 模式 横 欢迎
        此后 步 武 武昌 武装 毒 毕竟 民间 永远 汗 江南 江夏区 汤 河南 河流 泥 洪山区 流通 浠 海洋 消费 深入 清代 渐 温度 游客 游行 湘 源 满足
        演习 演出 炒 点头 烟 烧 照 熟 爆发 爬 版 狗 献 率领 玉 王朝 玩 环 现场 现实 班 理想 生于 生态 甲 电影 电视 略 疾病 病人 百姓 的话 皇
        皇城 盐 盖 盘 相反 相应 相比 省长 眼前 石油 矿产 破坏 硬 祭 种类 秒 秘密 移动 稍 究竟 空中 突出 竹 符合 第一个 第三 答 答应 精 素 素质
        紧张 红色 纵 纷纷 纺织 练 组 细 经历 结 绝 绝对 绣 维持 缺乏 网站 罪 美军 翻 老人 老板 考察 而言 耳 职务 职工 胖子 脱 腿 自治 自治县
        自身 节 苏 苦 英语 营养 藕 虎 虚 蛋 行政区划 行者 街道 衣服 表明 表面 观 观念 观点 规律 解放 计 计算 认真 讯 记载 论坛 设施 设置 诏 试验
        语 象征 负 财富 购买 贴 贵 贷款 费用 贼 资产阶级 资本主义 赴 赶 起义 超 距 距离 路线 转移 轮 软件 轻轻 迎 运用 这件 这儿 进去 进步 适合
        逃 逐步 遂 遇到 遭到 避免 邓小平 那时 配合 酸 金属 鏄 针对 长江大桥 门外 闭会 闯王 闹 闻 阅读 阶级 降低 限制 院校 随即 随后 隔 雨 雪
        非洲 面临 页 顾 预算 领导人 风格 风险 飞行 首次 首都 骑 骨 高中 高校 鬼 鸡 齐
    """,
    12: """
        一份 一会 一会儿 一大 一套 一层 一度 一招 一方面 一根 一生 一番 一类 一股 一路 一部 一项 一齐 丁 万亩 万公顷 三峡 上升 上午 上去 上市
        上级 不在 不够 不得不 不用 不由得 不行 不许 丝 丢 两位 两岸 两年 两者 个别 中共 中原 临 主体 主动 主意 主管 主题 举办 之上 之所以 之际
        乐 事实上 云南 交换 交给 亩 享受 享有 亭 人人 人体 人均 人工 人民币 人马 亿美元 仅仅 今后 从来 仔细 仗 仙桃 以外 仪式 价 仿佛 企图
        伊拉克 优良 传说 伸 低声 佛 作家 例 依然 依照 依靠 侧 侵略 保存 候选人 值得 做出 做到 做法 允许 兄 党中央 全世界 全年 全身 八年 公主
        公众 公安 公斤 共产党 关心 其次 典型 养 养殖 内阁 再说 军人 军警 冠军 冲突 决策 准 准确 几句 出于 出身 分享 分类 切 创 初期 初步 到处
        到来 到达 制成 刺激 前后 前来 前进 剩下 劝 加快 加速 动作 动力 动态 动手 劲 劳动力 包含 北京市 医学 医疗 医药 十堰 十堰市 十年 千 升级
        午门 华北 协会 协定 南方 博士 博物馆 占领 卡 卫星 印 原始 原理 原种 县级 县长 参 反复 反而 发明 发行 取出 取消 古老 另一方面 只得 只怕
        可惜 右手 吃饭 各类 各部 合同 合并 合法 同一 同年 后者 吐 向前 君 君主 吩咐 含有 含量 听取 吸引 吾 告 员工 周恩来 味道 呼 命运 咬 品牌
        哼 商人 商量 啥 喝道 嘛 四周 四年 回头 回家 国家级 国有 国王 国防 土壤 地势 地图 地址 地处 地质 地震 坚决 埃及 基 基本上 基金 塔 塞 增
        士兵 声明 备案 多个 多么 大人 大典 大军 大哥 大多 大多数 大大 大师 大桥 大概 大清 大街 大门 天气 太后 太太 太子 太平洋 夫妇 失 头上 头发
        夹 夺 奖 奶奶 好吃 姐姐 婚 婚姻 孔 季节 学术 学科 宋江 宗 官兵 宜 宜昌市 审 审查 客人 客观 害 害怕 家长 富 富有 对付 寻 将来 将领 小子
        小学 小组 少女 少数民族 尖 就算 尼 尾 局面 居住 居然 屋 山区 山西 屼 屾 岭 崇祯 工厂 工艺 巴黎 市民 帐 帝 帝国 平台 平方公里 平时 年度
        年纪 幸福 幺 广告 床 店 废除 康熙 廊 建国 建造 开发区 异 异常 引用 弟 弱 当即 当选 很少 得名 微微 微笑 心情 忍不住 志 怔 总人口 总结
        总面积 总额 恐怕 恩 恶 想着 慢 戏 成就 成熟 成都 或是 战国 战场 战士 战役 战术 房子 所在 所在地 所说 扇 手术 扎 打算 托 执政 扩展 扯 扶
        批评 投诉 投降 抗 抗战 护 报纸 抽 拒绝 拖 拱 挑 挖 挡 挺 损失 捧 据说 授 授予 授权 排列 探索 接触 接近 推广 提名 搬 搭 摇 摇头 操 操作
        擦 支付 改称 改进 放弃 政 政协 文艺 料 斜 新型 新疆 方便 施 旁边 旅 旗 无人 日军 日期 日益 旨 早就 早期 时刻 明天 明清 春秋 显著 智 暂时
        暗 曲 更为 最为 最佳 最初 最新 有利于 有点 有着 有限 未必 本次 本科 术 杩 杭州 杯 松 极为 枚 柄 某种 查 标志 校 校园 根据地 案 案件 梦
        棉花 棣 槸 模型 次数 歌 止 正义 正好 此事 此刻 此次 武当山 死亡 毁 母 每次 毕 毕业生 民族乡 气温 氨 水产 永乐 汉白玉 江湖 江苏 江陵 污染
        沙 没想到 河北 治理 沿 沿海 波 注 注重 洗 洲 流动 流域 流行 浅 浙江 海上 海外 消失 消费者 涉及 涔 深刻 深圳 混 渐渐 温 港口 游戏 湖南
        湖泊 滑 滚 满意 演 演员 潜艇 澶 激动 激烈 灭 灯 灰 灵 炮 点亮 烤 热情 然 熟悉 父 爷 爹 爹爹 片刻 版本 牌 牙 物理 犯 犯罪 独 独特 狼 猛
        猪 现有 珠 理由 瓦 生存 用来 由此 申请 电力 电脑 男子 番 痛 痛苦 登 登时 白色 百 皇后 皮肤 盆地 盛 目光 直播 相似 省内 真实 眼见 睁 瞎
        砍 研究所 确 碗 礼部 社 社稷 祖国 福 秋 种植 种种 科学家 科研 秘书 秦 秩序 积累 称号 移 穴 空气 突破 立场 立法 竴 笉 笔 笔架 第二次 第四
        等于 等待 签订 简介 简称 算是 箭 篇 簡 粮 糕 糖 系列 累 累计 繁殖 红军 纪念 纸 经理 结婚 绕 给予 统治者 绿 绿色 编 编制 网页 罗 罗马 羊
        美丽 老婆 老百姓 而已 职能 联 联合国 联盟 股权 股票 肯 背景 胡 能量 脉 脑 脸色 腰 自动 自我 自然保护区 至今 致 舞 航线 般 舰 艘 色彩 荆
        荆州市 荣誉 药品 药物 莫 落后 著作 蒋介石 蒙 蓝 薄 虫 行情 衙门 衣 补 补充 表演 表达 袁 袁世凯 袁承志 袭 装置 襄 西班牙 要是 观众 观察
        规则 规范 视 角 角度 解放军 议会 议案 记录 许 设有 访问 证 证券 评价 识 试 诗人 说法 读者 课 课程 谈判 谷 负责人 败 贯彻 费 资产 资格 赛
        走出 走向 走进 赵 赶快 趋势 跃 跨 跪 路上 踢 身份 躲 躺 转化 转变 转身 软 载 输 辽 迁 过渡 运行 近年来 这场 这般 这话 进口 远远 追求
        适用 选民 透 途径 通信 通知 造 逼 遇 道德 道理 遗产 遭 邀请 部署 郭 配 醒 采访 重庆 重建 鍙 鍦 鏈 钟 银子 银鱼 镑 长沙 门前 门口 闪 闯
        队员 防 防御 防止 阳 阳光 阵 附 陆军 降水量 陕西 陪 陵 雄 集体 雕 雷达 震 露 露出 韩 韩国 音 顺 顺利 预计 颜色 风味 风景 食物 饮 首页
        马克思主义 骑兵 高原 高考 高速公路 魔 鱼类 鸟 黄冈 黄河 黄石 黄金 鼓
    """,
    13: """
        一下子 一回 一处 一对 一日 一身 一遍 一顿 万岁 三分 上涨 下岗 不如 不见 不让 不论 与其 与此同时 专题 丘陵 东京 丝毫 两只 两天 两条 严
        个体 中华 中华民族 中央人民政府 临床 丹 主义 主力 之内 之类 乾隆 予以 事项 二年 五一 亚热带 亡 人群 他人 代替 任职 伏 休 优质 传来 伦敦
        伸出 住房 何况 佛教 佳 佸 供应 依法 俄国 俘 保留 保险 信号 信心 俩 修建 俱 俺 倾向 做好 偷 储量 像是 光绪 共和国 兴奋 兵力 军官 军阀
        决心 冷笑 几次 出入 出售 函数 分成 分离 分裂 划 初中 刻 前往 剩余价值 办事 加大 十五 千万 千步 半个 半天 单独 占有 即将 历代 原子 原有
        县市 参考 友好 反动 反抗 发动机 叔 受伤 变革 可见 司令 司法 各省 合成 合适 吉 同事 后期 吴三桂 吸 吻 周期 呵 呼吸 命名 品 品德 哈 哊
        哪儿 唉 唐代 喂 嘉 嘉靖 国家机关 图案 圈 在内 地带 地点 场所 坐下 垂 埋 城乡 城里 基督教 堆 壁 士 备 外资 大力 大厅 大叫 大夫 大批 夫妻
        好处 好好 如同 妃 妖 始建 姑姑 婆婆 嫁 学会 学位 宇宙 安装 实验室 容 寄 密度 将士 尊重 小心 尤 就要 尸 局部 展示 岗位 岩 峰 工作人员
        差不多 差别 市区 布局 布置 希腊 常用 常见 幅 庆 废 延伸 建有 开国 引进 当中 当前 当真 形态 彩 影 影片 役 征 徐 得以 循环 忘记 快乐 怀疑
        怎么样 思 思维 思考 性格 总产值 总体 总数 总督 总量 悠久 情形 想法 想象 愈 意味着 感受 感染 慈禧 战斗机 战胜 截止 房间 所属 手指 扔 执
        扩张 批判 把握 投资者 抵 抵触 抹 拔 拥 指数 指标 指示 挑战 挤 捉 排名 探 接待 掷 描述 提到 提升 提醒 握 搜索 摔 收拾 收费 攻关 政党 故意
        效率 教主 教训 文化大革命 文库 斩 旅行社 无不 无产阶级 无数 昨日 景点 更好 曹操 最低 最高人民检察院 最高人民法院 有利 有力 有机 有权
        有没有 朕 木材 朱元璋 杂志 李高成 李鸿章 构造 柳 样 桌上 检察 棒 欧 歇 正门 正阳门 此人 武昌区 武林 毫无 氏 民政 气体 气氛 江泽民 江西
        沉 沉重 沉默 沟 沟通 沪 法院 泡 洛阳 洞庭湖 流通股 测试 测量 浣 消除 涌 混合 灵魂 热带 煎 煤 照片 煮 爱情 爸爸 特产 牺牲 猜 王国 球队 璇
        生成 生气 男性 留在 病毒 症状 监 目录 相继 看法 眼泪 矣 矿 码头 砸 确立 示威 神色 票 禁止 私人 科学技术 积 税 穷 竟是 第二天 签署 简直
        粉 粗 紧急 纯 组合 组成部分 终 结论 继 继承 缺 网上 老爷 职位 聚 胡秉宸 胸 胸口 能源 脊 脑袋 腐败 自主 自从 自行 般的 芙 英文 草原 荷兰
        落实 董事会 蛇 蜀 行政区 表决 被迫 西安 西藏 要素 言语 认 讨 议 记得 讲话 诏书 询问 详细 说完 读书 调节 谈话 谢 谱 豆 货 资本家 赏 赐 赢
        赤 赶紧 足够 身后 轨道 转过 轿 较为 辆 辐射 输出 迎接 近代 返回 进程 连接 退出 适宜 选出 选手 透露 递 遭受 避 那天 鄂西 酒店 鈥 鍒 鍚 针
        钢 钢铁 钻 锅 镇压 长老 门户 闭 阁 阴 限 陛下 院子 随州 随时 障碍 静 面试 顺治 顿 顿时 颁 颁布 领土 领袖 频率 额 马上 高手 高新技术 鲜
        鸿 黄石市 黑暗 黑色 鼓励
    """,
}
